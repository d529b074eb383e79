/** The view "Trust": servers whose definitions differ from the approved ones, and suspicious findings about their tools. */
import type { Definitions, ServerDefinitions } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { useLive } from '../api/live.ts';
import { Command, Empty, Heading, Shown } from '../parts/basics.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { Missing } from '../parts/missing.tsx';
import { Mode, State } from '../parts/state.tsx';
import { hrefOf, place } from '../route.ts';
import { count } from '../words.ts';
import { OneServer } from './one-trusted.tsx';

export function Trust() {
  const definitions = useLive<Definitions>('definitions');
  const { item } = place.value;
  const [said, setSaid] = useState('');
  const held = definitions.value?.servers.reduce((sum, each) => sum + each.held, 0);
  return (
    <>
      <Heading
        aside={
          <span role="status">
            {held !== undefined && (held === 0 ? 'nothing is held back' : `${count(held, 'definition')} held back`)}
          </span>
        }
      >
        Trust
      </Heading>
      <p role="status">{said}</p>
      <Shown live={definitions}>
        {({ servers, missing }) => (
          <>
            <Missing missing={missing} />
            {servers.length === 0 ? (
              <Empty why="No servers are configured.">
                <Command text="omnibus import" /> takes those of your other clients over; or name one under{' '}
                <code>mcpServers</code>.
              </Empty>
            ) : (
              <>
                {servers.every(({ mode }) => mode === 'off') && (
                  <Empty why="What servers say of themselves is compared with nothing.">
                    Add <code>definitions: pin</code> to a server, and what it says of its tools from then on is shown
                    to clients only after somebody has approved it here.
                  </Empty>
                )}
                <List servers={servers} chosen={item} />
              </>
            )}
          </>
        )}
      </Shown>
      {item !== undefined && <OneServer key={item} name={item} say={setSaid} />}
    </>
  );
}

const columns: Columns<ServerDefinitions> = {
  Server: ({ server }) => server,
  Definitions: ({ mode }) => mode,
  'Held back': ({ held }) => held,
  Changed: ({ deviations, more = 0, held }) => deviations.length + more - held,
  Suspicious: suspicious,
};

/** Signs of a hidden intention, in approved and in changed definitions. */
function suspicious({ signs, deviations }: ServerDefinitions): number {
  return signs.length + deviations.reduce((sum, { risks }) => sum + risks.length, 0);
}

function List({
  servers,
  chosen,
}: {
  readonly servers: readonly ServerDefinitions[];
  readonly chosen: string | undefined;
}) {
  return (
    <Table label="Servers" head={['Server', 'Definitions', 'Held back', 'Changed', 'Suspicious']} sortable={columns}>
      {sorted('Servers', servers, columns).map((each) => {
        const { server, mode, problem, held, deviations, more = 0 } = each;
        const others = deviations.length + more - held;
        const found = suspicious(each);
        return (
          <tr key={server} class={server === chosen ? 'chosen' : undefined}>
            <td>
              <a href={hrefOf('trust', server)} aria-current={server === chosen ? 'true' : undefined}>
                {server}
              </a>
            </td>
            <td class="nowrap">
              <Mode mode={mode} /> {problem !== undefined && <State tone="bad" shape="✗" word="not known" />}
            </td>
            <td>
              {held === 0 ? <span class="dim">nothing</span> : <State tone="ask" shape="?" word={`${held} wait`} />}
            </td>
            <td>
              {others === 0 ? (
                <span class="dim">nothing</span>
              ) : (
                <State tone="warn" shape="!" word={`${others} changed`} />
              )}
            </td>
            <td>
              {found === 0 ? (
                <span class="dim">nothing</span>
              ) : (
                <State tone="warn" shape="!" word={count(found, 'sign')} />
              )}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}
