/** What servers and clients said: text, whatever it looks like. */
import { useState } from 'preact/hooks';
import { numberWords, plain } from '../words.ts';

/** What one click shows more of. */
const step = 20_000;

interface SaidProps {
  readonly text: string;
  /** Characters that are shown until somebody asks for more. */
  readonly max?: number;
  /** Keeps lines and blanks as they are. */
  readonly isBlock?: boolean;
}

/** A text of somebody else: never markup, cut, in its own direction. */
export function Said({ text, max = 300, isBlock = false }: SaidProps) {
  const [shown, setShown] = useState(max);
  const more = text.length - shown;
  const visible = plain(more > 0 ? text.slice(0, shown) : text);
  return (
    <>
      {isBlock ? <pre class="said" dir="auto" tabIndex={0} role="group" aria-label="text">{visible}</pre> : <bdi class="said">{visible}</bdi>}
      {more > 0 && <button type="button" class="more" onClick={() => setShown(shown + step)}>{`… ${numberWords(more)} characters more`}</button>}
    </>
  );
}

/** An address that somebody else gave: its text is its target, and only what a browser opens as a page can be opened. */
export function Target({ address }: { readonly address: string }) {
  const isPage = /^https?:\/\//i.test(address) && URL.canParse(address);
  if (!isPage) return <code class="target"><Said text={address} /></code>;
  return <a class="target" href={address} target="_blank" rel="noopener noreferrer" title="opens in a new tab">{plain(address.slice(0, 2_000))}</a>;
}
