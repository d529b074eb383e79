/** A field with words that filter the view, stored in the address of the page. */
import { place, setQuery } from '../route.ts';

interface SearchFieldProps {
  readonly label: string;
  readonly placeholder: string;
  /** The parameter of the address. */
  readonly name?: string;
  /** Other parameters that a change removes. */
  readonly clears?: readonly string[];
  /** Whether it stands outside a row of filters. */
  readonly isAlone?: boolean;
}

export function SearchField({ label, placeholder, name = 'q', clears = [], isAlone = false }: SearchFieldProps) {
  const cleared = Object.fromEntries(clears.map((each) => [each, '']));
  return (
    <label class={isAlone ? 'search' : undefined}>
      {label}{' '}
      <input
        type="search"
        value={place.value.query.get(name) ?? ''}
        placeholder={placeholder}
        onInput={(event) => setQuery({ [name]: event.currentTarget.value, ...cleared })}
      />
    </label>
  );
}
