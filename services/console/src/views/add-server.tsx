/** Adds a server: writes it into the configuration where the operator permits that, else makes the command and the lines for it. A program runs on the machine of the gateway. */
import { isServerAddress, shellWords } from '@omnibus/protocol/shell-words';
import { useState } from 'preact/hooks';
import { Copy, Dialog } from '../parts/basics.tsx';
import { later } from '../parts/later.tsx';
import { may } from '../parts/may.ts';
import { Said } from '../parts/said.tsx';
import { addCommand, addLines, entryLines, type NewServer } from './add-words.ts';

const Entry = later(async () => (await import('./edit-server.tsx')).Entry);

export function AddServer({ close }: { readonly close: (done?: string) => void }) {
  const [server, setServer] = useState<NewServer>({ name: '', what: '' });
  const isNamed = /^[A-Za-z0-9_-]{1,64}$/.test(server.name);
  const { mayEdit } = may();
  const mayWrite = mayEdit === 'programs' || (mayEdit === 'addresses' && isServerAddress(server.what));
  const isWhole = isNamed && shellWords(server.what).length > 0;
  return (
    <Dialog title="Add a server" close={close}>
      <div class="stack">
        <label>
          Name{' '}
          <input
            value={server.name}
            aria-invalid={server.name !== '' && !isNamed}
            onInput={(event) => setServer({ ...server, name: event.currentTarget.value })}
          />
        </label>
        {server.name !== '' && !isNamed && (
          <p class="field-problem" role="alert">
            1 to 64 letters, digits, "_" and "-"
          </p>
        )}
        <label>
          Address, or program with its arguments{' '}
          <input
            value={server.what}
            placeholder="https://host/mcp, or npx -y PACKAGE"
            onInput={(event) => setServer({ ...server, what: event.currentTarget.value })}
          />
        </label>
      </div>
      {isWhole && mayWrite && (
        <Entry key={JSON.stringify(server)} name={server.name} given={entryLines(server)} close={close} />
      )}
      {isWhole && !mayWrite && <Ways {...server} />}
      {!(isWhole && mayWrite) && (
        <div class="buttons">
          <button type="button" onClick={() => close()}>
            Close
          </button>
        </div>
      )}
    </Dialog>
  );
}

/** The command and the lines that add the server, for a terminal and for the file. */
function Ways(server: NewServer) {
  return (
    <>
      <p>
        This command tries the server, shows what it changes in the configuration and asks before it writes. The gateway
        follows the file by itself:
      </p>
      <Said text={addCommand(server)} isBlock />
      <Copy text={addCommand(server)} label="copy the command" />
      <p>Or add these lines to the configuration; no secret belongs in them:</p>
      <Said text={addLines(server)} isBlock />
      <Copy text={addLines(server)} label="copy the lines" />
    </>
  );
}
