import type { Schema } from '../wire/types';

/** One field of a question's form. */
export interface Field {
  name: string;
  label: string;
  hint: string | null;
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'choices';
  options: string[];
  required: boolean;
  initial: unknown;
}

/** More choices than this are not buttons. */
const MAX_BUTTONS = 8;

/** The choices of a question that is nothing but one choice. */
export function choicesOf(schema: Schema | null | undefined): { name: string; values: string[] } | null {
  const all = Object.entries(schema?.properties ?? {});
  const [only] = all;
  if (!only || all.length !== 1 || !only[1].enum || only[1].enum.length > MAX_BUTTONS) return null;
  return { name: only[0], values: only[1].enum };
}

export function fieldsOf(schema: Schema | null | undefined): Field[] {
  return Object.entries(schema?.properties ?? {}).map(([name, p]) => ({
    name,
    label: p.title ?? name,
    hint: p.description ?? null,
    kind: p.enum
      ? 'choice'
      : p.items?.enum
        ? 'choices'
        : p.type === 'boolean'
          ? 'boolean'
          : p.type === 'number' || p.type === 'integer'
            ? 'number'
            : 'text',
    options: p.enum ?? p.items?.enum ?? [],
    required: schema?.required?.includes(name) ?? false,
    initial: p.default,
  }));
}

/** What was filled in. What is optional and empty is left out. */
export function readForm(fields: Field[], form: Pick<FormData, 'get' | 'getAll'>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const f of fields) {
    const value = form.get(f.name);
    if (f.kind === 'boolean') out[f.name] = value !== null;
    else if (f.kind === 'choices') out[f.name] = form.getAll(f.name).map(String);
    else if (value !== null && (String(value) !== '' || f.required))
      out[f.name] = f.kind === 'number' ? Number(value) : String(value);
  }
  return out;
}
