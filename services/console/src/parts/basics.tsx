/** What every view is made of. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { problemWords } from '../api/ask.ts';
import type { Live } from '../api/live.ts';
import { duration } from '../words.ts';
import { Said } from './said.tsx';
import { State } from './state.tsx';

/** The heading of a view; whoever comes by keyboard begins to read there. */
export function Heading({ children, aside }: { readonly children: ComponentChildren; readonly aside?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return <div class="heading"><h1 tabIndex={-1} ref={heading}>{children}</h1>{aside !== undefined && <div class="aside">{aside}</div>}</div>;
}

/** Why there is nothing, and what to do. */
export function Empty({ why, children }: { readonly why: string; readonly children?: ComponentChildren }) {
  return <div class="empty"><p><strong>{why}</strong></p>{children !== undefined && <p>{children}</p>}</div>;
}

export function Problem({ problem, advice }: { readonly problem: string; readonly advice: string | undefined }) {
  return <div class="problem" role="alert"><State tone="bad" shape="✗" word="problem" /> <Said text={problem} max={1_000} />{advice !== undefined && <p class="advice">→ <Said text={advice} max={1_000} /></p>}</div>;
}

/** What was asked for, once it is there; else why it is not. */
export function Shown<Answer>({ live, children }: { readonly live: Live<Answer>; readonly children: (value: Answer) => ComponentChildren }) {
  return (
    <>
      {live.problem !== undefined && <Problem {...live.problem} />}
      {live.value === undefined ? live.problem === undefined && <p class="waiting">asking…</p> : children(live.value)}
    </>
  );
}

/** How long ago, with the time itself for whoever points at it. @param at ISO 8601. */
export function Ago({ at, isSince = false }: { readonly at: string; readonly isSince?: boolean }) {
  const ms = Date.now() - Date.parse(at);
  return <time dateTime={at} title={at}>{isSince ? duration(Math.max(0, ms)) : `${duration(Math.max(0, ms))} ago`}</time>;
}

/** Copies a text, and says that it did. */
export function Copy({ text, label = 'copy' }: { readonly text: string; readonly label?: string }) {
  const [said, setSaid] = useState<string>();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('copied');
    } catch {
      setSaid('not copied: the browser does not allow it here'); // Plain HTTP from elsewhere: the text stands beside the button.
    }
  };
  return <button type="button" class="small" onClick={() => void copy()}>{said ?? label}</button>;
}

/** A command to be typed elsewhere. */
export function Command({ text }: { readonly text: string }) {
  return <span class="command"><code>{text}</code> <Copy text={text} /></span>;
}

/** A table that can be scrolled by keyboard where it is wider than the page. */
export function Table({ label, head, children }: { readonly label: string; readonly head: readonly string[]; readonly children: ComponentChildren }) {
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead><tr>{head.map((each) => <th scope="col" key={each}>{each}</th>)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** Over everything else; Esc closes it, and the focus goes back to where it was. */
export function Dialog({ title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onCancel={(event) => { event.preventDefault(); close(); }}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly act: string;
  readonly run: () => Promise<string>;
  readonly close: (done?: string) => void;
  readonly children: ComponentChildren;
}

/** Asks before something is done that others notice. */
export function Confirm({ title, act, run, close, children }: ConfirmProps) {
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const [isRunning, setRunning] = useState(false);
  const confirm = async (): Promise<void> => {
    setRunning(true);
    try {
      close(await run());
    } catch (error) {
      setProblem(problemWords(error));
      setRunning(false);
    }
  };
  return (
    <Dialog title={title} close={close}>
      {children}
      {problem !== undefined && <Problem {...problem} />}
      <div class="buttons">
        <button type="button" class="strong" disabled={isRunning} onClick={() => void confirm()}>{act}</button>
        <button type="button" onClick={() => close()}>Leave it</button>
      </div>
    </Dialog>
  );
}
