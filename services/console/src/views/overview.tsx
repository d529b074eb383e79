/** The view "Overview": findings with advice, counts, the slowest tools and the last failures. */
import type { Failures, Finding, Overview as Answer, Summary } from '@omnibus/admin-api';
import { useLive } from '../api/live.ts';
import { Ago, Empty, Heading, Shown } from '../parts/basics.tsx';
import { Table } from '../parts/table.tsx';
import { Rates } from '../parts/rates.tsx';
import { may } from '../parts/may.ts';
import { Said, Sentence } from '../parts/said.tsx';
import { Outcome, State } from '../parts/state.tsx';
import { hrefOf } from '../route.ts';
import { count, duration, numberWords } from '../words.ts';

const slowest = 5;
const latest = 8;

export function Overview() {
  const overview = useLive<Answer>('overview');
  return (
    <>
      <Heading>Overview</Heading>
      <Shown live={overview}>
        {(value) => (
          <>
            <Findings findings={value.findings} />
            <Counts counts={value.counts} />
            <Rates />
            <div class="columns">
              <Slowest />
              {may().mayWatch && <JustFailed />}
            </div>
          </>
        )}
      </Shown>
    </>
  );
}

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  return (
    <section aria-label="Findings" aria-live="polite">
      {findings.length === 0 ? (
        <p class="well">
          <State tone="good" shape="●" word="Nothing needs you." />
        </p>
      ) : (
        <ul class="findings">
          {findings.map((finding) => (
            <li key={finding.id}>
              <OneFinding {...finding} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function OneFinding({ severity, text, advice, since, link }: Finding) {
  const state =
    severity === 'error' ? (
      <State tone="bad" shape="✗" word="error" />
    ) : severity === 'warning' ? (
      <State tone="warn" shape="!" word="warning" />
    ) : (
      <State tone="off" shape="○" word="note" />
    );
  // The link comes from the gateway, but contains names that others chose: only addresses within the page are followed.
  const target = link?.startsWith('#/') === true ? link : undefined;
  return (
    <>
      {state} <Said text={text} max={600} />{' '}
      {since !== undefined && (
        <span class="dim nowrap">
          for <Ago at={since} isSince />{' '}
        </span>
      )}
      {target !== undefined && (
        <a href={target}>
          look at it<span class="unseen"> ({target.slice(2)})</span>
        </a>
      )}
      {advice !== undefined && (
        <p class="advice">
          → <Sentence text={advice} max={600} />
        </p>
      )}
    </>
  );
}

function Counts({ counts }: { readonly counts: Answer['counts'] }) {
  const offered = counts.tools + counts.prompts + counts.resources;
  return (
    <ul class="tiles">
      <li>
        <a href={hrefOf('servers')}>
          <b>
            {counts.up} of {counts.servers}
          </b>{' '}
          servers are up
        </a>
      </li>
      <li>
        <a href={hrefOf('catalogue')}>
          <b>{numberWords(counts.tools)}</b> tools
          {offered > counts.tools && `, ${count(counts.prompts, 'prompt')}, ${count(counts.resources, 'resource')}`}
        </a>
      </li>
      <li>
        <a href={hrefOf('sessions')}>
          <b>{numberWords(counts.sessions)}</b> {counts.sessions === 1 ? 'session' : 'sessions'}
        </a>
      </li>
      <li>
        <a href={hrefOf('calls', undefined, { outcome: 'failed' })}>
          <b>{numberWords(counts.failures)}</b> {counts.failures === 1 ? 'call' : 'calls'} failed lately
        </a>
      </li>
      <li>
        <a href={hrefOf('topology')}>
          <b>{numberWords(counts.processes)}</b> {counts.processes === 1 ? 'process' : 'processes'}
          {counts.missing > 0 && `, ${counts.missing} without an answer`}
        </a>
      </li>
    </ul>
  );
}

function Slowest() {
  const summary = useLive<Summary>('metrics/summary');
  return (
    <section aria-label="Slowest tools">
      <h2>
        Slowest tools <span class="dim">on average, since the start</span>
      </h2>
      <Shown live={summary}>
        {({ tools }) => {
          const timed = tools
            .filter(({ rates }) => rates.mean !== undefined && rates.calls > 0)
            .toSorted((one, other) => (other.rates.mean ?? 0) - (one.rates.mean ?? 0))
            .slice(0, slowest);
          if (timed.length === 0)
            return (
              <Empty why="No tool was called yet.">
                <a href={hrefOf('try')}>Try one</a>, or connect a client.
              </Empty>
            );
          const longest = timed[0]?.rates.mean ?? 1;
          return (
            <Table label="Tools by average time" head={['Tool', 'Takes', 'Calls', 'Beside the slowest']}>
              {timed.map(({ server, tool, rates }) => (
                <tr key={`${server}/${tool}`}>
                  <td>
                    <a href={hrefOf('calls', undefined, { server, tool })}>
                      <Said text={`${server}/${tool}`} max={80} />
                    </a>
                  </td>
                  <td class="number">{duration(rates.mean ?? 0)}</td>
                  <td class="number">{numberWords(rates.calls)}</td>
                  <td>
                    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                      <rect width={Math.max(1, (100 * (rates.mean ?? 0)) / longest)} height="8" />
                    </svg>
                  </td>
                </tr>
              ))}
            </Table>
          );
        }}
      </Shown>
    </section>
  );
}

function JustFailed() {
  const failures = useLive<Failures>('failures');
  return (
    <section aria-label="Just failed">
      <h2>Just failed</h2>
      <Shown live={failures}>
        {({ failures: all }) =>
          all.length === 0 ? (
            <Empty why="Nothing has failed since the start." />
          ) : (
            <Table label="Calls that failed last" head={['When', 'Who', 'What', 'Outcome']}>
              {all.slice(0, latest).map((failure) => (
                <tr key={`${failure.tag} ${failure.process}`}>
                  <td>
                    <Ago at={new Date(failure.at).toISOString()} />
                  </td>
                  <td>
                    <Said text={failure.client ?? '–'} max={40} />
                  </td>
                  <td>
                    <Said
                      text={
                        failure.server === undefined
                          ? (failure.name ?? failure.method)
                          : `${failure.server}/${failure.tool ?? failure.method}`
                      }
                      max={80}
                    />
                  </td>
                  <td>
                    <a href={hrefOf('calls', failure.tag)}>
                      <Outcome outcome={failure.outcome} />
                    </a>{' '}
                    {failure.problem !== undefined && <Said text={failure.problem} max={120} />}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Shown>
    </section>
  );
}
