/** Components that all views use. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { problemWords } from '../api/ask.ts';
import type { Live } from '../api/live.ts';
import { duration } from '../words.ts';
import { Said, Sentence } from './said.tsx';
import { State } from './state.tsx';

/** The heading of a view. It takes the focus, so that keyboard and screen reader users begin there. */
export function Heading({
  children,
  aside,
}: {
  readonly children: ComponentChildren;
  readonly aside?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <div class="heading">
      <h1 tabIndex={-1} ref={heading}>
        {children}
      </h1>
      {aside !== undefined && <div class="aside">{aside}</div>}
    </div>
  );
}

/** Stands in place of an empty list: why it is empty, and what to do. */
export function Empty({ why, children }: { readonly why: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>
        <strong>{why}</strong>
      </p>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

/** One line of a list of facts. */
export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

export function Problem({ problem, advice }: ReturnType<typeof problemWords>) {
  return (
    <div class="problem" role="alert">
      <State tone="bad" shape="✗" word="problem" /> <Said text={problem} max={1_000} />
      {advice !== undefined && (
        <p class="advice">
          → <Sentence text={advice} max={1_000} />
        </p>
      )}
    </div>
  );
}

/** Shows an answer of the API once there is one, and the problem of the last request. */
export function Shown<Answer>({
  live,
  children,
}: {
  readonly live: Live<Answer>;
  readonly children: (value: Answer) => ComponentChildren;
}) {
  return (
    <>
      {live.problem !== undefined && <Problem {...live.problem} />}
      {live.value === undefined ? live.problem === undefined && <p class="waiting">asking…</p> : children(live.value)}
    </>
  );
}

/** A time as "5 min ago", with the time itself as a tooltip. @param at ISO 8601. @param isSince leaves out "ago". */
export function Ago({ at, isSince = false }: { readonly at: string; readonly isSince?: boolean }) {
  const ms = Date.now() - Date.parse(at);
  return (
    <time dateTime={at} title={at}>
      {isSince ? duration(Math.max(0, ms)) : `${duration(Math.max(0, ms))} ago`}
    </time>
  );
}

/** Figures of this age are marked: the page asks every two seconds. */
const staleMs = 6_000;

/** How old the figures of the page are. @param at milliseconds since 1970. */
export function Updated({ at }: { readonly at: number }) {
  const [now, setNow] = useState(Date.now());
  useLayoutEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const age = Math.max(0, now - at);
  return age < staleMs ? (
    <span class="updated">updated now</span>
  ) : (
    <span class="updated">
      <State tone="bad" shape="!" word={`not updated for ${duration(age)}`} />
    </span>
  );
}

/** A button that copies a text, and then shows whether that succeeded. */
export function Copy({ text, label = 'copy' }: { readonly text: string; readonly label?: string }) {
  const [said, setSaid] = useState<string>();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('copied');
    } catch {
      setSaid('not copied: the browser does not allow it here'); // Browsers allow it only over HTTPS or on localhost; the text is next to the button.
    }
  };
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      {said ?? label}
    </button>
  );
}

/** A command for a terminal, with a button that copies it. */
export function Command({ text }: { readonly text: string }) {
  return (
    <span class="command">
      <code>{text}</code> <Copy text={text} />
    </span>
  );
}

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog: Esc closes it, and the focus then returns to where it was. */
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
    <dialog
      ref={dialog}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
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

/** Asks for confirmation before an act that affects others. @param run does it, and returns a message. */
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
        <button type="button" class="strong" disabled={isRunning} onClick={() => void confirm()}>
          {act}
        </button>
        <button type="button" onClick={() => close()}>
          Leave it
        </button>
      </div>
    </Dialog>
  );
}
