/** Writes a server into the configuration, or takes it out, where the operator permits it. The user sees the difference before the write. */
import type { EntryChanged, ServerEntry } from '@omnibus/admin-api';
import { useEffect, useState } from 'preact/hooks';
import { get, post, problemWords } from '../api/ask.ts';
import { refresh } from '../api/live.ts';
import { Dialog, Problem } from '../parts/basics.tsx';
import { Said } from '../parts/said.tsx';

interface EditProps {
  readonly name: string;
  /** @param done the written change, in words. */
  readonly close: (done?: string) => void;
}

const pathOf = (name: string): string => `servers/${encodeURIComponent(name)}/entry`;

export function EditServer({ name, close }: EditProps) {
  const [entry, setEntry] = useState<string>();
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  useEffect(() => {
    get<ServerEntry>(pathOf(name)).then(
      (read) => setEntry(read.entry ?? ''),
      (error: unknown) => setProblem(problemWords(error)),
    );
  }, [name]);
  return (
    <Dialog title={`Edit ${name}`} close={close}>
      {problem !== undefined && <Problem {...problem} />}
      {problem === undefined && entry === undefined && <p class="waiting">asking…</p>}
      {entry !== undefined && <Entry name={name} given={entry} close={close} />}
      {entry === undefined && <Leave close={close} />}
    </Dialog>
  );
}

export function RemoveServer({ name, close }: EditProps) {
  return (
    <Dialog title={`Remove ${name}?`} close={close}>
      <p>Its lines leave the configuration. Clients lose its tools at once, and calls that run there are cancelled.</p>
      <Change name={name} entry={null} close={close} />
    </Dialog>
  );
}

/** The options of a server in a field. @param given as they are now, or as they are proposed. */
export function Entry({ name, given, close }: EditProps & { readonly given: string }) {
  const [text, setText] = useState(given);
  const [shown, setShown] = useState<string>();
  return (
    <>
      <div class="stack">
        <label>
          Options of the server (YAML); <code>•••</code> keeps the secret that stands there{' '}
          <textarea
            rows={8}
            spellcheck={false}
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setShown(undefined);
            }}
          />
        </label>
      </div>
      {shown === undefined ? (
        <div class="buttons">
          <button type="button" class="strong" disabled={text.trim() === ''} onClick={() => setShown(text)}>
            Show the change
          </button>
          <button type="button" onClick={() => close()}>
            Leave it
          </button>
        </div>
      ) : (
        <Change key={shown} name={name} entry={shown} close={close} />
      )}
    </>
  );
}

/** The difference that a change makes, and the button that writes it. */
function Change({ name, entry, close }: EditProps & { readonly entry: string | null }) {
  const [change, setChange] = useState<EntryChanged>();
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const [isWriting, setWriting] = useState(false);
  const show = (): void => {
    setProblem(undefined);
    post<EntryChanged>(pathOf(name), { entry }).then(setChange, (error: unknown) => setProblem(problemWords(error)));
  };
  useEffect(show, [name, entry]);
  const write = async (): Promise<void> => {
    setWriting(true);
    try {
      const { file, problems } = await post<EntryChanged>(pathOf(name), { entry, digest: change?.digest });
      close(
        problems.length === 0
          ? `${file} is changed, and the gateway follows it.`
          : `${file} is changed, and the gateway goes on as before: ${problems.join('; ')}`,
      );
      // Only now: the page of a server that is gone is left by then.
      refresh();
    } catch (error) {
      setProblem(problemWords(error));
      setChange(undefined);
      setWriting(false);
    }
  };
  return (
    <>
      {problem !== undefined && <Problem {...problem} />}
      {problem === undefined && change === undefined && <p class="waiting">asking…</p>}
      {change !== undefined && <Shown {...change} />}
      <div class="buttons">
        {change !== undefined && (
          <button
            type="button"
            class="strong"
            disabled={isWriting || change.difference.length === 0}
            onClick={() => void write()}
          >
            {entry === null ? 'Remove it' : 'Write it'}
          </button>
        )}
        {problem?.reason === 'conflict' && (
          <button type="button" onClick={show}>
            Look again
          </button>
        )}
        <button type="button" onClick={() => close()}>
          Leave it
        </button>
      </div>
    </>
  );
}

function Shown({ file, difference, starts, warnings }: EntryChanged) {
  return (
    <>
      <h3>
        Changes <Said text={file} max={200} />
      </h3>
      {difference.length === 0 ? (
        <p>It stands there so already; nothing is written.</p>
      ) : (
        <Said text={difference.join('\n')} max={20_000} isBlock />
      )}
      {starts !== undefined && (
        <p>
          Starts on the machine of the gateway:{' '}
          <code>
            <Said text={starts} max={1_000} />
          </code>
        </p>
      )}
      {warnings.map((warning) => (
        <p key={warning} class="warn-text">
          ! <Said text={warning} max={1_000} />
        </p>
      ))}
    </>
  );
}

function Leave({ close }: Pick<EditProps, 'close'>) {
  return (
    <div class="buttons">
      <button type="button" onClick={() => close()}>
        Close
      </button>
    </div>
  );
}
