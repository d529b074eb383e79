/** The view "Audit": a search in the records, one record with its place in the chain of its writer, and whether a chain is as it was written. */
import type { AuditRecord, AuditRecords, AuditRow, AuditVerified } from '@omnibus/admin-api';
import { useEffect, useState } from 'preact/hooks';
import { problemWords } from '../api/ask.ts';
import { useOnce } from '../api/once.ts';
import { follow } from '../api/stream.ts';
import { Copy, Empty, Fact, Heading, Problem } from '../parts/basics.tsx';
import { Table } from '../parts/table.tsx';
import { AskField, AskForm, AskOutcome, queryOf } from '../parts/filters.tsx';
import { may } from '../parts/may.ts';
import { Missing } from '../parts/missing.tsx';
import { usePages } from '../parts/pages.tsx';
import { Said } from '../parts/said.tsx';
import { State, type Tone } from '../parts/state.tsx';
import { ForOthers } from '../parts/unknown-rights.tsx';
import { hrefOf, place } from '../route.ts';
import { bytes, count, duration, numberWords } from '../words.ts';

const filters = ['who', 'server', 'tool', 'event', 'outcome', 'since', 'until'] as const;
const outcomes: Readonly<Record<string, readonly [Tone, string, string]>> = {
  ok: ['good', '✓', 'ok'],
  tool_error: ['warn', '!', 'tool failed'],
  fault: ['bad', '✗', 'fault'],
  denied: ['bad', '✗', 'denied'],
  cancelled: ['off', '○', 'cancelled'],
  unknown: ['warn', '?', 'unknown'],
  started: ['off', '◐', 'started'],
};

export function Audit() {
  const { mayAudit, isAudited, who } = may();
  if (isAudited && mayAudit) return <Search />;
  return (
    <>
      <Heading>Audit</Heading>
      {who !== '' && !isAudited ? (
        <Off />
      ) : (
        <ForOthers why="Audit records are for the roles auditor and admin.">
          On the machine with the files, <code>omnibus audit search</code> reads them.
        </ForOthers>
      )}
    </>
  );
}

/** How the operator turns the audit on. */
function Off() {
  return (
    <>
      <Empty why="The audit is off: nothing is recorded.">
        These lines in the configuration turn it on, with the next start; the records go into the folder{' '}
        <code>audit</code> beside it.
      </Empty>
      <Said text={auditLines} isBlock />
      <Copy text={auditLines} label="Copy the lines" />
    </>
  );
}

const auditLines = 'audit:\n  sinks:\n    - { kind: file, folder: audit }\n';

function Search() {
  const { item } = place.value;
  const path = (cursor?: string): string => `audit/records?${queryOf(filters, { cursor })}`;
  const first = useOnce<AuditRecords>(path());
  return (
    <>
      <Heading aside="every search is on record">Audit</Heading>
      <AskForm label="Search" names={filters} act="Search" sent={first.again}>
        <AskField label="Who" name="who" isFirst placeholder="ann, key id, 10.1.*" size={18} />
        <AskField label="Server" name="server" placeholder="any" size={10} />
        <AskField label="Tool" name="tool" placeholder="any" size={12} />
        <AskField label="Event" name="event" placeholder="mcp.call, admin.*" size={14} />
        <AskOutcome words={outcomes} />
        <AskField label="Since" name="since" placeholder="2h, 7d, a date" size={12} />
        <AskField label="Until" name="until" placeholder="now" size={12} />
      </AskForm>
      {first.problem !== undefined && <Problem {...first.problem} />}
      {first.isAsking && <p class="waiting">searching…</p>}
      {first.value !== undefined && <Pages key={path()} first={first.value} path={path} chosen={item} />}
      {item !== undefined && <One key={item} item={item} />}
    </>
  );
}

function Pages({
  first,
  path,
  chosen,
}: {
  readonly first: AuditRecords;
  readonly path: (cursor: string) => string;
  readonly chosen: string | undefined;
}) {
  const { pages, last, more } = usePages(first, path);
  const records = pages.flatMap((page) => page.records);
  const sum = (of: (page: AuditRecords) => number): number => pages.reduce((all, page) => all + of(page), 0);
  if (!first.isRecorded) return <Off />;
  if (first.sources.length === 0)
    return (
      <Empty why="No sink of this gateway can be searched from here.">
        {first.elsewhere.length > 0
          ? `Records go to ${first.elsewhere.join(', ')}: search there.`
          : 'The process that writes them does not answer.'}{' '}
        A sink of the kind file or jetstream can be searched.
      </Empty>
    );
  return (
    <>
      <Missing missing={first.missing} />
      {records.length === 0 ? (
        <Empty
          why={last.next === undefined ? 'No record fits.' : 'No record fits among those that were read so far.'}
        />
      ) : (
        <Table label="Records" head={['Time', 'Event', 'Who', 'Server', 'What', 'Outcome', 'Why', 'Takes']}>
          {records.map((row) => (
            <Row key={`${row.source} ${row.writer} ${row.seq}`} row={row} isChosen={chosen === itemOf(row)} />
          ))}
        </Table>
      )}
      <p class="dim" role="status">
        {count(
          sum(({ looked }) => looked),
          'record',
        )}{' '}
        read ({bytes(sum((page) => page.bytes))}){last.reached !== undefined && `, back to ${last.reached}`}
        {last.next === undefined && ': all there are'}, in {first.sources.map((source) => source.place).join('; ')}.
      </p>
      {first.elsewhere.length > 0 && (
        <p>Records go to {first.elsewhere.join(', ')} too, which cannot be searched here.</p>
      )}
      {more('Earlier records')}
    </>
  );
}

/** What stands in the address of one record. */
const itemOf = ({ source, at }: AuditRow): string => `${source}/${at}`;

function Row({ row, isChosen }: { readonly row: AuditRow; readonly isChosen: boolean }) {
  const [tone, shape, word] = outcomes[row.outcome ?? ''] ?? (['off', '·', row.outcome ?? '–'] as const);
  return (
    <tr class={isChosen ? 'chosen' : undefined}>
      <td class="nowrap">
        <a
          href={hrefOf('audit', itemOf(row), Object.fromEntries(place.value.query))}
          aria-current={isChosen ? 'true' : undefined}
        >
          {row.time}
        </a>
      </td>
      <td>{row.event}</td>
      <td>
        <Said text={row.who ?? '–'} max={80} />
      </td>
      <td>{row.server ?? '–'}</td>
      <td>
        <Said text={row.what ?? '–'} max={80} />
      </td>
      <td>
        <State tone={tone} shape={shape} word={word} />
      </td>
      <td>
        <Said text={row.why ?? '–'} max={80} />
      </td>
      <td class="number">{row.ms === undefined ? '–' : duration(row.ms)}</td>
    </tr>
  );
}

function One({ item }: { readonly item: string }) {
  const end = item.indexOf('/');
  const asked = new URLSearchParams({ source: item.slice(0, end), at: item.slice(end + 1) });
  const answer = useOnce<AuditRecord>(`audit/record?${asked.toString()}`);
  return (
    <section class="detail" aria-label="The chosen record">
      {answer.problem !== undefined && <Problem {...answer.problem} />}
      {answer.value === undefined ? (
        answer.problem === undefined && <p class="waiting">asking…</p>
      ) : (
        <Whole {...answer.value} />
      )}
    </section>
  );
}

const followsWords = {
  yes: 'the record before it is there, and has the hash that this one names',
  no: 'the record before it does not have the hash that this one names',
  first: 'it is the first of its writer',
  unknown: 'the record before it was not found near it: verify the chain',
} as const;

function Whole({ row, record, chain }: AuditRecord) {
  const isHarmed = !chain.isGenuine || chain.follows === 'no';
  return (
    <>
      <h2>
        Record {numberWords(row.seq)} of {row.writer}
      </h2>
      <p>
        {isHarmed ? (
          <State tone="bad" shape="✗" word="changed" />
        ) : (
          <State tone="good" shape="✓" word="as it was written" />
        )}
        : {chain.isGenuine ? 'its hash is that of its text' : 'its hash is not that of its text'}, and{' '}
        {followsWords[chain.follows]}.
      </p>
      <dl>
        <Fact name="Hash before">
          <code>{chain.prev === '' ? '–' : chain.prev}</code>
        </Fact>
        <Fact name="Hash">
          <code>{chain.hash}</code>
        </Fact>
      </dl>
      <Said text={pretty(record)} max={20_000} isBlock />
      <div class="buttons">
        <Copy text={record} label="Copy the line" />
      </div>
      <Verify key={`${row.source} ${row.writer}`} source={row.source} writer={row.writer} />
    </>
  );
}

/** A record that was cut for its length is no JSON; it appears unchanged. */
function pretty(record: string): string {
  try {
    return JSON.stringify(JSON.parse(record), null, 2);
  } catch {
    return record;
  }
}

const weights: Readonly<Record<AuditVerified['findings'][number]['weight'], readonly [Tone, string, string]>> = {
  harm: ['bad', '✗', 'changed'],
  foreign: ['warn', '!', 'foreign'],
  gap: ['warn', '!', 'not whole'],
  open: ['off', '○', 'open'],
};

function Verify({ source, writer }: { readonly source: string; readonly writer: string }) {
  const [running, setRunning] = useState<AbortController>();
  const [progress, setProgress] = useState<{ readonly records: number; readonly bytes: number }>();
  const [verified, setVerified] = useState<AuditVerified>();
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  useEffect(() => () => running?.abort(), [running]);
  const run = (): void => {
    const ending = new AbortController();
    setRunning(ending);
    setVerified(undefined);
    setProblem(undefined);
    setProgress({ records: 0, bytes: 0 });
    const asked = new URLSearchParams({ source, writer });
    follow(
      `audit/verify?${asked.toString()}`,
      ({ kind, data }) => {
        if (kind === 'progress') setProgress(data as { readonly records: number; readonly bytes: number });
        else if (kind === 'verified') setVerified(data as AuditVerified);
        else if (kind === 'failed') setProblem({ advice: undefined, ...(data as { readonly problem: string }) });
      },
      ending.signal,
    )
      .catch((error: unknown) => {
        if (!ending.signal.aborted) setProblem(problemWords(error));
      })
      .finally(() => setRunning((now) => (now === ending ? undefined : now)))
      .catch(reportError);
  };
  return (
    <>
      <div class="buttons">
        {running === undefined ? (
          <button type="button" onClick={run}>
            Verify the whole chain of {writer}
          </button>
        ) : (
          <button type="button" onClick={() => running.abort()}>
            Stop
          </button>
        )}
      </div>
      <div role="status">
        {running !== undefined && progress !== undefined && (
          <p>
            {numberWords(progress.records)} records, {bytes(progress.bytes)} so far …
          </p>
        )}
        {verified !== undefined && <Result {...verified} />}
      </div>
      {problem !== undefined && <Problem {...problem} />}
    </>
  );
}

function Result({ records, isWhole, checkpoints, findings }: AuditVerified) {
  const isHarmed = findings.some(({ weight }) => weight === 'harm');
  return (
    <>
      <p>
        {isHarmed ? (
          <State tone="bad" shape="✗" word="records were changed or are missing" />
        ) : (
          <State tone="good" shape="✓" word="all as they were written" />
        )}
        : {count(records, 'record')}
        {checkpoints > 0 && `, ${count(checkpoints, 'checkpoint')}`}
        {!isWhole && '; the chain is longer than is verified here: omnibus audit verify has no limit'}.
      </p>
      {findings.length > 0 && (
        <ul>
          {findings.map(({ weight, text }) => (
            <li key={text}>
              <State tone={weights[weight][0]} shape={weights[weight][1]} word={weights[weight][2]} />{' '}
              <Said text={text} max={600} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
