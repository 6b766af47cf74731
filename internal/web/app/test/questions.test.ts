import { expect, it } from 'vitest';
import { choicesOf, fieldsOf, readForm } from '../src/state/question';
import { loaded, play } from './make';

const question = (id: string) => ({
  type: 'response.elicitation_request',
  elicitation_id: id,
  params: { message: `${id}?` },
});

it('keeps a question until it is answered, by whomever', () => {
  let chat = play(loaded(), question('q1'), question('q2'), question('q1'));
  expect(chat.questions.map((q) => q.elicitation_id)).toEqual(['q2', 'q1']);
  chat = play(chat, { type: 'response.elicitation_resolved', elicitation_id: 'q2' });
  expect(chat.questions.map((q) => q.elicitation_id)).toEqual(['q1']);
});

it('makes buttons of one choice, and a form of all else', () => {
  const answer = { type: 'string', enum: ['yes', 'no'] };
  expect(choicesOf({ properties: { answer } })).toEqual({ name: 'answer', values: ['yes', 'no'] });
  expect(choicesOf({ properties: { answer, why: { type: 'string' } } })).toBeNull();
  expect(choicesOf(null)).toBeNull();
});

it('reads a form as its schema says', () => {
  const fields = fieldsOf({
    properties: {
      name: { type: 'string' },
      n: { type: 'integer' },
      sure: { type: 'boolean' },
      more: { type: 'string' },
    },
    required: ['name'],
  });
  const form = new FormData();
  form.set('name', '');
  form.set('n', '12');
  form.set('more', '');
  expect(readForm(fields, form)).toEqual({ name: '', n: 12, sure: false });
});
