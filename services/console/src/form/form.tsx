/** The editor for arguments, as a form or as JSON. */
import { useState } from 'preact/hooks';
import { Fields } from './fields.tsx';
import { fieldsOf, isSchema, resolve, type Schema } from './schema.ts';
import { emptyOf, problemsOf, readJson, Unread, type FieldProblem } from './values.ts';

export interface Draft {
  readonly mode: 'form' | 'json';
  readonly value: unknown;
  /** Text of the JSON editor. It is sent unchanged, so that large numbers and the order of members stay. */
  readonly text: string;
}

export function draftOf(schema: Schema, text?: string): Draft {
  const given = text === undefined ? undefined : readJson(text);
  const value = isSchema(given) ? given : (emptyOf(schema, schema) ?? {});
  const isShown = resolve(schema, schema) !== undefined;
  return {
    mode: isShown && !(given instanceof Unread) ? 'form' : 'json',
    value,
    text: text ?? JSON.stringify(value, null, 2),
  };
}

/** The JSON text to be sent, or why the draft cannot be sent yet. */
export function readDraft(
  draft: Draft,
  schema: Schema,
): { readonly text: string } | { readonly problems: readonly FieldProblem[] } {
  if (draft.mode === 'form') {
    const problems = problemsOf(draft.value, schema, schema);
    return problems.length > 0 ? { problems } : { text: JSON.stringify(draft.value) };
  }
  const read = readJson(draft.text);
  if (read instanceof Unread) return { problems: [{ path: 'JSON', problem: read.problem }] };
  return isSchema(read ?? {})
    ? { text: draft.text.trim() === '' ? '{}' : draft.text }
    : { problems: [{ path: 'JSON', problem: 'an object is wanted: {…}' }] };
}

interface FormProps {
  readonly schema: Schema;
  readonly draft: Draft;
  readonly set: (draft: Draft) => void;
  readonly problems: readonly FieldProblem[];
}

/** @returns JSON in which a field that cannot be read is the text that the user wrote. */
function writtenOf(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => (each instanceof Unread ? each.text : each), 2);
}

export function ArgumentsForm({ schema, draft, set, problems }: FormProps) {
  const [refused, setRefused] = useState<string>();
  const byPath = new Map(problems.map(({ path, problem }) => [path, problem]));
  const show = (mode: Draft['mode']): void => {
    setRefused(undefined);
    if (mode === draft.mode) return;
    if (mode === 'json') {
      set({ ...draft, mode, text: writtenOf(draft.value) });
      return;
    }
    const read = readJson(draft.text);
    if (isSchema(read ?? {}) && !(read instanceof Unread)) set({ ...draft, mode, value: read ?? {} });
    else setRefused('What is written is no JSON object yet, so the form cannot show it.');
  };
  return (
    <>
      <div class="buttons" role="group" aria-label="How arguments are written">
        {(['form', 'json'] as const).map((mode) => (
          <button key={mode} type="button" class="small" aria-pressed={draft.mode === mode} onClick={() => show(mode)}>
            {mode === 'form' ? 'Form' : 'JSON'}
          </button>
        ))}
      </div>
      {refused !== undefined && (
        <p class="field-problem" role="alert">
          {refused}
        </p>
      )}
      {draft.mode === 'json' ? (
        <label class="block">
          Arguments as JSON
          <textarea
            rows={10}
            spellcheck={false}
            value={draft.text}
            aria-invalid={byPath.has('JSON')}
            onInput={(event) => set({ ...draft, text: event.currentTarget.value })}
          />
        </label>
      ) : fieldsOf(schema).length === 0 ? (
        <p class="dim">It takes no arguments that its schema names. JSON sends others.</p>
      ) : (
        <div class="fields-of">
          <Fields
            schema={schema}
            root={schema}
            value={draft.value}
            set={(value) => set({ ...draft, value })}
            problems={byPath}
          />
        </div>
      )}
      {draft.mode === 'json' && byPath.has('JSON') && <p class="field-problem">{byPath.get('JSON')}</p>}
    </>
  );
}
