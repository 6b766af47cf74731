import { useSignal } from '@preact/signals';
import { Markdown } from '../markdown/Markdown';
import { safeLink } from '../markdown/links';
import type { LiveSession } from '../state/live';
import { choicesOf, fieldsOf, readForm, type Field } from '../state/question';
import { follow } from '../state/route';
import { complain } from '../state/say';
import { api } from '../wire/api';
import type { Question } from '../wire/types';
import { Icon } from './Icon';

/** A question that the agent waits on. */
export function QuestionCard({ question: q, live }: { question: Question; live: LiveSession }) {
  const busy = useSignal(false);
  const p = q.params;
  const answer = async (action: string, content?: unknown) => {
    if (busy.value) return;
    busy.value = true;
    await api.resolve(live.id, q.elicitation_id, action, content).catch(complain('Answering'));
    busy.value = false; // it goes when the server says that it is answered
  };
  const choices = choicesOf(p.requestedSchema);
  const fields = choices ? [] : fieldsOf(p.requestedSchema);
  const link = p.url ? safeLink(p.url) : null;
  const target = p.target_session_id;
  const tool = p.phase === 'tool_call';
  return (
    <form
      class="entry question"
      data-testid="question"
      data-question-id={q.elicitation_id}
      aria-label="Question"
      onSubmit={(e) => {
        e.preventDefault();
        void answer(
          'accept',
          fields.length > 0 ? readForm(fields, new FormData(e.currentTarget)) : undefined,
        );
      }}
    >
      <div class="question-text">
        <Icon name="question" />
        <div>
          <Markdown text={p.message || 'The agent asks for your consent.'} />
          {target && target !== live.id && (
            <p class="from">
              A sub-agent asks:{' '}
              <a href={`/c/${target}`} onClick={(e) => follow(e, { session: target })}>
                show its session
              </a>
            </p>
          )}
        </div>
      </div>
      {p.content_preview && <pre tabIndex={0}>{p.content_preview}</pre>}
      {link && (
        <p>
          <a href={link} target="_blank" rel="noopener noreferrer">
            {link}
          </a>
        </p>
      )}
      {fields.map((f) => (
        <FieldInput key={f.name} field={f} />
      ))}
      <div class="buttons">
        {choices ? (
          choices.values.map((v, n) => (
            <button
              key={v}
              type="button"
              class={n === 0 ? 'primary' : undefined}
              disabled={busy.value}
              data-testid="answer"
              data-answer={v}
              onClick={() => void answer('accept', { [choices.name]: v })}
            >
              {v}
            </button>
          ))
        ) : (
          <>
            <button
              type="submit"
              class="primary"
              disabled={busy.value}
              data-testid="answer"
              data-answer="accept"
            >
              {tool ? 'Allow' : fields.length > 0 ? 'Answer' : 'Yes'}
            </button>
            <button
              type="button"
              disabled={busy.value}
              data-testid="answer"
              data-answer="decline"
              onClick={() => void answer('decline')}
            >
              {tool ? 'Deny' : fields.length > 0 ? 'Do not answer' : 'No'}
            </button>
          </>
        )}
        <button
          type="button"
          class="quiet"
          disabled={busy.value}
          data-testid="answer"
          data-answer="cancel"
          onClick={() => void answer('cancel')}
        >
          Cancel
        </button>
      </div>
    </form>
  );
}

const NUMBER = '[+\\-]?[0-9]*\\.?[0-9]+([eE][+\\-]?[0-9]+)?';

function FieldInput({ field: f }: { field: Field }) {
  const label = (
    <span>
      {f.label}
      {f.required ? '' : ' (optional)'}
    </span>
  );
  if (f.kind === 'boolean') {
    return (
      <label class="field inline">
        <input type="checkbox" name={f.name} defaultChecked={f.initial === true} /> {label}
      </label>
    );
  }
  return (
    <label class="field">
      {label}
      {f.hint && <small>{f.hint}</small>}
      {f.kind === 'choice' || f.kind === 'choices' ? (
        <select name={f.name} required={f.required} multiple={f.kind === 'choices'}>
          {f.options.map((o) => (
            <option key={o} value={o} selected={o === f.initial}>
              {o}
            </option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          inputMode={f.kind === 'number' ? 'decimal' : 'text'}
          pattern={f.kind === 'number' ? NUMBER : undefined}
          name={f.name}
          required={f.required}
          defaultValue={f.initial == null ? '' : String(f.initial)}
        />
      )}
    </label>
  );
}
