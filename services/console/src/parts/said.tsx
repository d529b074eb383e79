/** Text that comes from servers and clients, which is never interpreted as markup. */
import { useState } from 'preact/hooks';
import { numberWords, plain } from '../words.ts';

/** Characters that one click on "more" adds. */
const step = 20_000;

interface SaidProps {
  readonly text: string;
  /** Bound on displayed characters before the user asks for more. */
  readonly max?: number | undefined;
  /** Shows line breaks and spaces as they are. */
  readonly isBlock?: boolean;
}

/** A text from elsewhere: cut to `max` characters, and isolated so that its direction does not affect the text around it. */
export function Said({ text, max = 300, isBlock = false }: SaidProps) {
  const [shown, setShown] = useState(max);
  const more = text.length - shown;
  const visible = plain(more > 0 ? text.slice(0, shown) : text);
  return (
    <>
      {isBlock ? (
        <pre class="said" dir="auto" tabIndex={0} role="group" aria-label="text">
          {visible}
        </pre>
      ) : (
        <bdi class="said">{visible}</bdi>
      )}
      {more > 0 && (
        <button
          type="button"
          class="more"
          onClick={() => setShown(shown + step)}
        >{`… ${numberWords(more)} characters more`}</button>
      )}
    </>
  );
}

/** A sentence of the gateway's own, in which names of options stand between backticks. */
export function Sentence({ text, max }: Pick<SaidProps, 'text' | 'max'>) {
  return (
    <>
      {text
        .split(/`([^`]+)`/)
        .map((part, at) =>
          at % 2 === 1 ? <code key={at}>{plain(part)}</code> : part !== '' && <Said key={at} text={part} max={max} />,
        )}
    </>
  );
}

/** An address from elsewhere. The link shows its whole target, and only http and https addresses are links. */
export function Target({ address }: { readonly address: string }) {
  const isPage = /^https?:\/\//i.test(address) && URL.canParse(address);
  if (!isPage)
    return (
      <code class="target">
        <Said text={address} />
      </code>
    );
  return (
    <a class="target" href={address} target="_blank" rel="noopener noreferrer" title="opens in a new tab">
      {plain(address.slice(0, 2_000))}
    </a>
  );
}

/** The name of a user or program, and its groups. */
export function WithGroups({ name, groups }: { readonly name: string; readonly groups: readonly string[] }) {
  return (
    <>
      <Said text={name} max={80} />
      {groups.length > 0 && (
        <span class="dim">
          {' '}
          <Said text={groups.join(', ')} max={120} />
        </span>
      )}
    </>
  );
}
