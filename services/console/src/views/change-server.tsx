/** How a server is changed or removed: in the page where the operator permits it, else by a command. */
import { useState } from 'preact/hooks';
import { Command } from '../parts/basics.tsx';
import { later } from '../parts/later.tsx';
import { may } from '../parts/may.ts';
import { go, hrefOf } from '../route.ts';

const EditServer = later(async () => (await import('./edit-server.tsx')).EditServer);
const RemoveServer = later(async () => (await import('./edit-server.tsx')).RemoveServer);

export function ChangeServer({ name, done }: { readonly name: string; readonly done: (said?: string) => void }) {
  const [asking, setAsking] = useState<'edit' | 'remove'>();
  const close = (said?: string): void => {
    if (asking === 'remove' && said !== undefined) go(hrefOf('servers'));
    setAsking(undefined);
    done(said);
  };
  return (
    <details>
      <summary>Change or remove it</summary>
      <p>
        Its options stand below <code>mcpServers.{name}</code> in the configuration, which the gateway follows:{' '}
        <a href={hrefOf('configuration', undefined, { q: `mcpServers.${name}.` })}>what is in force</a>.
      </p>
      {may().mayEdit === 'no' ? (
        <p>
          This takes it out, after a question: <Command text={`omnibus remove ${name}`} />
        </p>
      ) : (
        <div class="buttons">
          <button type="button" onClick={() => setAsking('edit')}>
            Edit…
          </button>
          <button type="button" onClick={() => setAsking('remove')}>
            Remove…
          </button>
        </div>
      )}
      {asking === 'edit' && <EditServer name={name} close={close} />}
      {asking === 'remove' && <RemoveServer name={name} close={close} />}
    </details>
  );
}
