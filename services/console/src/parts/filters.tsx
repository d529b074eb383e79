/** A form that sends its fields together, into the address of the page: for questions with a cost or a record. */
import type { ComponentChildren } from 'preact';
import { place, setQuery } from '../route.ts';

interface AskFormProps {
  readonly label: string;
  /** The names of the fields. */
  readonly names: readonly string[];
  readonly act: string;
  /** Called when the form is sent, also when nothing in it has changed. */
  readonly sent?: () => void;
  readonly children: ComponentChildren;
}

export function AskForm({ label, names, act, sent, children }: AskFormProps) {
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const changes = Object.fromEntries(names.map((name) => [name, textOf(given.get(name))]));
    const isSame = names.every((name) => (place.value.query.get(name) ?? '') === changes[name]);
    setQuery(changes);
    if (isSame) sent?.();
  };
  return (
    <form class="filters" aria-label={label} onSubmit={send}>
      {children}
      <button type="submit" class="strong">
        {act}
      </button>
    </form>
  );
}

interface AskFieldProps {
  readonly label: string;
  /** Of the field, and of its parameter in the address. */
  readonly name: string;
  readonly placeholder: string;
  readonly size: number;
  readonly required?: boolean;
  /** Whether the key "/" leads to it. */
  readonly isFirst?: boolean;
}

/** A field of such a form; it shows what was asked last. */
export function AskField({ label, isFirst = false, ...field }: AskFieldProps) {
  const shown = { ...field, value: place.value.query.get(field.name) ?? '' };
  return (
    <label>
      {label} {isFirst ? <input {...shown} type="search" /> : <input {...shown} />}
    </label>
  );
}

/** The field `outcome` of such a form. @param words by outcome; the last of each is shown. */
export function AskOutcome({ words }: { readonly words: Readonly<Record<string, readonly [...unknown[], string]>> }) {
  return (
    <label>
      Outcome{' '}
      <select name="outcome" value={place.value.query.get('outcome') ?? ''}>
        <option value="">all</option>
        {Object.entries(words).map(([name, each]) => (
          <option key={name} value={name}>
            {each.at(-1) as string}
          </option>
        ))}
      </select>
    </label>
  );
}

const textOf = (value: FormDataEntryValue | null): string => (typeof value === 'string' ? value.trim() : '');

/** The parameters of the address that are set, as a query. */
export function queryOf(names: readonly string[], more: Readonly<Record<string, string | undefined>> = {}): string {
  const { query } = place.value;
  const asked = new URLSearchParams();
  for (const name of names) if ((query.get(name) ?? '') !== '') asked.set(name, query.get(name) as string);
  for (const [name, value] of Object.entries(more)) if (value !== undefined) asked.set(name, value);
  return asked.toString();
}
