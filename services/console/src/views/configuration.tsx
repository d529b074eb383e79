/** The view "Configuration": the values in force, the source of each, the effects of the last change, and refused changes. */
import type { ComponentChildren } from 'preact';
import type { Configuration as Answer, ConfigDifference } from '@omnibus/admin-api';
import { useLive } from '../api/live.ts';
import { Ago, Copy, Heading, Shown } from '../parts/basics.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { Missing } from '../parts/missing.tsx';
import { Unfit } from '../parts/found.tsx';
import { Said } from '../parts/said.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { State } from '../parts/state.tsx';
import { place, setQuery } from '../route.ts';
import { asText, count, numberWords } from '../words.ts';

/** Bound on displayed rows; a filter finds the others. */
const maxRows = 300;

export function Configuration() {
  const configuration = useLive<Answer>('configuration');
  return (
    <>
      <Heading
        aside={
          configuration.value !== undefined && (
            <span>
              <code>{configuration.value.file}</code>, applied <Ago at={configuration.value.appliedAt} />
            </span>
          )
        }
      >
        Configuration
      </Heading>
      <Shown live={configuration}>
        {(value) => (
          <>
            <Missing missing={value.missing} />
            <Refused {...value} />
            {value.changed !== undefined && (
              <Changes label="The last change" difference={value.changed.difference}>
                changed <Ago at={value.changed.at} />
              </Changes>
            )}
            <InForce values={value.values} />
            <p class="dim">
              The file is the truth: change it there, and it is taken without a restart. This page changes nothing of
              it.
            </p>
          </>
        )}
      </Shown>
    </>
  );
}

/** The values in force that fit the filter. */
function InForce({ values }: Pick<Answer, 'values'>) {
  const { query } = place.value;
  const wanted = (query.get('q') ?? '').toLowerCase();
  const isAll = query.get('all') === 'yes' || wanted !== '';
  const rows = values.filter(
    ({ path, value: each, from }) =>
      (isAll || from !== 'default') && `${path} ${asText(each)} ${from}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <div class="filters">
        <SearchField label="Search" placeholder="option or value" />
        <label>
          <input
            type="checkbox"
            checked={query.get('all') === 'yes'}
            onChange={(event) => setQuery({ all: event.currentTarget.checked ? 'yes' : '' })}
          />{' '}
          defaults too
        </label>
        <span class="dim">
          {count(values.length, 'value')}, {numberWords(values.filter(({ from }) => from === 'default').length)} of them
          defaults
        </span>
      </div>
      {rows.length === 0 ? (
        <Unfit
          why={wanted === '' ? 'Nothing but defaults is in force.' : 'No option fits.'}
          query={{ q: '', all: 'yes' }}
        />
      ) : (
        <Values rows={rows.slice(0, maxRows)} />
      )}
      {rows.length > maxRows && <p class="dim">{numberWords(rows.length - maxRows)} more: search for them.</p>}
    </>
  );
}

function Refused({ rejected, restart }: Answer) {
  return (
    <div aria-live="polite">
      {rejected !== undefined && (
        <div class="problem">
          <State tone="bad" shape="✗" word="a later change was refused" /> <Ago at={rejected.at} />: what was in force
          stays.
          <ul>
            {rejected.problems.map((problem) => (
              <li key={problem}>
                <Said text={problem} max={600} isBlock={problem.includes('\n')} />
              </li>
            ))}
          </ul>
          {rejected.difference !== undefined && (
            <Changes label="The refused change" difference={rejected.difference}>
              it would have changed
            </Changes>
          )}
        </div>
      )}
      {restart.length > 0 && (
        <p class="missing">
          <State tone="warn" shape="!" word="needs a restart" /> {restart.join(', ')}
        </p>
      )}
    </div>
  );
}

/** The effects of a change. @param children says when or whether, in front of the number of options. */
function Changes({
  label,
  difference: { options, more },
  children,
}: {
  readonly label: string;
  readonly difference: ConfigDifference;
  readonly children: ComponentChildren;
}) {
  const shown = (isThere: boolean, value: unknown, isSecret: boolean | undefined): ComponentChildren =>
    !isThere ? (
      <span class="dim">not there</span>
    ) : isSecret === true ? (
      <span title="a secret is not shown">{asText(value)}</span>
    ) : (
      <Said text={asText(value)} max={200} />
    );
  return (
    <details>
      <summary>
        {label}: {children}, {count(options.length + more, 'option')}
      </summary>
      <Table label={label} head={['Option', 'Before', 'After']}>
        {options.map((each) => (
          <tr key={each.path}>
            <td>
              <code>
                <Said text={each.path} max={160} />
              </code>
            </td>
            <td>{shown('before' in each, each.before, each.isSecret)}</td>
            <td>{shown('after' in each, each.after, each.isSecret)}</td>
          </tr>
        ))}
      </Table>
      {more > 0 && <p class="dim">{numberWords(more)} more are not shown.</p>}
    </details>
  );
}

const columns: Columns<Answer['values'][number]> = {
  Option: ({ path }) => path,
  Value: ({ value, isSecret }) => (isSecret === true ? undefined : asText(value)),
  From: ({ from, place: at }) => at ?? from,
};

function Values({ rows }: { readonly rows: Answer['values'] }) {
  return (
    <Table label="Configuration" head={['Option', 'Value', 'From']} sortable={columns}>
      {sorted('Configuration', rows, columns).map(({ path, value, from, place: at, isSecret, reference }) => (
        <tr key={path}>
          <td class="name">
            <code>
              <Said text={path} max={160} />
            </code>
          </td>
          <td>
            {isSecret === true ? (
              <span title="a secret is not shown">••• {reference !== undefined && <code>{reference}</code>}</span>
            ) : (
              <Said text={asText(value)} max={200} />
            )}
          </td>
          <td class="nowrap">
            {at === undefined ? (
              from
            ) : (
              <>
                <code>{at}</code> <Copy text={at} />
              </>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
