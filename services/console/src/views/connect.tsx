/** The view "Connect": a button for each client and endpoint, and what to do where the browser cannot do it. */
import type { ClientWay, ConnectWays } from '@omnibus/admin-api';
import { useLive } from '../api/live.ts';
import { Command, Copy, Heading, Shown } from '../parts/basics.tsx';
import { EndpointField } from '../parts/endpoint-field.tsx';
import { Said } from '../parts/said.tsx';
import { hrefOf, place } from '../route.ts';
import { shellWord } from './copies.ts';

export function Connect() {
  const { item, query } = place.value;
  const endpoint = query.get('endpoint') ?? '';
  const ways = useLive<ConnectWays>(`connect?${new URLSearchParams({ endpoint }).toString()}`);
  return (
    <>
      <Heading>Connect</Heading>
      <Shown live={ways}>
        {({ endpoints, url, needsKey, clients }) => (
          <>
            <div class="filters">
              <EndpointField endpoints={endpoints} />
              <code>{url}</code> <Copy text={url} label="copy the address" />
            </div>
            {needsKey && (
              <p>
                Put an API key in the place of <code>KEY</code>: <Command text="omnibus keys create --subject NAME" />
              </p>
            )}
            {url.includes('//HOST') && (
              <p>
                Put the name or address of the machine of the gateway in the place of <code>HOST</code>.
              </p>
            )}
            {item === undefined && <p class="dim">Choose your client:</p>}
            <ul class="choices" aria-label="Clients">
              {clients.map(({ id, name }) => (
                <li key={id}>
                  <a
                    class="button"
                    href={hrefOf('connect', id, { endpoint })}
                    aria-current={id === item ? 'true' : undefined}
                  >
                    {name}
                  </a>
                </li>
              ))}
            </ul>
            {clients.map((client) => client.id === item && <One key={client.id} client={client} />)}
          </>
        )}
      </Shown>
    </>
  );
}

/** The system of the browser, which is that of the client in most cases. */
function fileHere({ files }: ClientWay): string {
  const { userAgent } = navigator;
  return userAgent.includes('Windows') ? files.win32 : userAgent.includes('Mac OS') ? files.darwin : files.linux;
}

function One({ client }: { readonly client: ClientWay }) {
  const { name, text, command, link, hint } = client;
  return (
    <section class="detail" aria-label={`Connect ${name}`}>
      <h2>{name}</h2>
      {link !== undefined && (
        <p>
          <a class="button strong" href={link}>
            Open {name} and connect
          </a>{' '}
          <span class="dim">It asks before it adds the gateway.</span>
        </p>
      )}
      <h3>With a command, on the machine of the client</h3>
      <p>
        <Command text={command.map(shellWord).join(' ')} />
      </p>
      <h3>
        By hand, in <code>{fileHere(client)}</code>
      </h3>
      <Said text={text} max={20_000} isBlock />
      <Copy text={text} label="copy the text" />
      <p class="dim">Then: {hint}.</p>
    </section>
  );
}
