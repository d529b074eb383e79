/** The view "Try": calls a tool from the page. */
import type { Catalogue as CatalogueAnswer, CatalogueEntry, Processes } from '@omnibus/admin-api';
import { legacyRevisions, modernRevisions } from '@omnibus/protocol/revisions';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLive } from '../api/live.ts';
import { ArgumentsForm, draftOf, readDraft } from '../form/form.tsx';
import type { Schema } from '../form/schema.ts';
import type { FieldProblem } from '../form/values.ts';
import { Confirm, Copy, Empty, Heading, Shown } from '../parts/basics.tsx';
import { Table } from '../parts/table.tsx';
import { may } from '../parts/may.ts';
import { Said } from '../parts/said.tsx';
import { hrefOf, place, setQuery } from '../route.ts';
import { Attempt } from './attempt.ts';
import { commandFor, curlFor, type Copied } from './copies.ts';
import { Running } from './running.tsx';

const revisions: readonly string[] = [...legacyRevisions, ...modernRevisions];

export function Try() {
  const { item } = place.value;
  return item === undefined ? (
    <Choose />
  ) : (
    <OneTool key={`${item} ${place.value.query.get('endpoint') ?? ''}`} name={item} />
  );
}

/** The list of tools to choose from. */
function Choose() {
  const { query } = place.value;
  const q = query.get('q') ?? '';
  const found = useLive<CatalogueAnswer>(
    `catalogue?${new URLSearchParams({ kind: 'tool', ...(q === '' ? {} : { q }) }).toString()}`,
  );
  return (
    <>
      <Heading>Try</Heading>
      <label class="search">
        Search tools{' '}
        <input
          type="search"
          value={q}
          placeholder="name or words of it"
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
      </label>
      <Shown live={found}>
        {({ entries }) =>
          entries.length === 0 ? (
            <Empty why={q === '' ? 'No server offers a tool yet.' : 'No tool fits.'}>
              <a href={hrefOf('servers')}>Are the servers up?</a>
            </Empty>
          ) : (
            <Table label="Tools" head={['Tool', 'Server', 'What it does']}>
              {entries.map(({ name, server, description = '', isForAskable }) => (
                <tr key={name}>
                  <td>
                    <a href={hrefOf('try', name)}>
                      <Said text={name} max={120} />
                    </a>
                    {isForAskable === true && <span class="dim"> asks back</span>}
                  </td>
                  <td>
                    <Said text={server} max={80} />
                  </td>
                  <td class="wide">
                    <Said text={description} max={160} />
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Shown>
    </>
  );
}

function OneTool({ name }: { readonly name: string }) {
  const { query } = place.value;
  const endpoint = query.get('endpoint') ?? '';
  const found = useLive<CatalogueAnswer>(
    `catalogue?${new URLSearchParams({ kind: 'tool', q: name, ...(endpoint === '' ? {} : { endpoint }) }).toString()}`,
  );
  const entry = found.value?.entries.find((each) => each.name === name);
  return (
    <>
      <Heading aside={<a href={hrefOf('try')}>another tool</a>}>
        <Said text={name} max={120} />
      </Heading>
      <Shown live={found}>
        {() =>
          entry === undefined ? (
            <Empty why="No tool of this name is offered here.">
              <a href={hrefOf('catalogue', undefined, { q: name })}>Look for it in the catalogue</a>
            </Empty>
          ) : (
            <Bench entry={entry} endpoint={endpoint} given={query.get('arguments') ?? undefined} />
          )
        }
      </Shown>
    </>
  );
}

function Bench({
  entry,
  endpoint,
  given,
}: {
  readonly entry: CatalogueEntry;
  readonly endpoint: string;
  readonly given: string | undefined;
}) {
  const schema = (entry.inputSchema ?? {}) as Schema;
  const [draft, setDraft] = useState(() => draftOf(schema, given));
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const [revision, setRevision] = useState<string>(revisions[0] as string);
  const [allowed, setAllowed] = useState<readonly string[]>(['forms', 'links', 'sampling']);
  const [attempt, setAttempt] = useState<Attempt>();
  const [isAsking, setAsking] = useState(false);
  const { mayChange } = may();
  const isDangerous = entry.annotations?.['destructiveHint'] === true && entry.annotations['readOnlyHint'] !== true;
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => () => attempt?.leave(), [attempt]);
  const text = readDraft(draft, schema);
  const call = (): void => {
    const read = readDraft(draft, schema);
    if ('problems' in read) {
      setProblems(read.problems);
      queueMicrotask(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
      return;
    }
    setProblems([]);
    setAttempt(
      new Attempt({ endpoint, method: 'tools/call', name: entry.name, arguments: read.text, revision, may: allowed }),
    );
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isDangerous && !('problems' in readDraft(draft, schema))) setAsking(true);
    else call();
  };
  const keyed = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return (
    <>
      {entry.description !== undefined && <Said text={entry.description} max={600} isBlock />}
      {entry.isForAskable === true && (
        <p class="dim">Its server offers it only to clients that can be asked, as this page can.</p>
      )}
      <form class="bench" ref={form} onSubmit={submit} onKeyDown={keyed} noValidate>
        <ArgumentsForm schema={schema} draft={draft} set={setDraft} problems={problems} />
        {problems.length > 0 && (
          <p
            class="field-problem"
            role="alert"
          >{`${problems.length === 1 ? 'One field is' : `${problems.length} fields are`} not right: ${problems
            .slice(0, 10)
            .map(({ path, problem }) => `${path}: ${problem}`)
            .join('; ')}`}</p>
        )}
        <details>
          <summary>
            As a client of {revision}, which may be asked: {allowed.length === 0 ? 'nothing' : allowed.join(', ')}
          </summary>
          <div class="filters">
            <label>
              Revision{' '}
              <select value={revision} onChange={(event) => setRevision(event.currentTarget.value)}>
                {revisions.map((each) => (
                  <option key={each} value={each}>
                    {each}
                  </option>
                ))}
              </select>
            </label>
            {(['forms', 'links', 'sampling'] as const).map((what) => (
              <label key={what}>
                <input
                  type="checkbox"
                  checked={allowed.includes(what)}
                  onChange={() =>
                    setAllowed(allowed.includes(what) ? allowed.filter((each) => each !== what) : [...allowed, what])
                  }
                />{' '}
                {what}
              </label>
            ))}
          </div>
        </details>
        <div class="buttons">
          <button type="submit" class="strong" disabled={!mayChange} title={mayChange ? 'Ctrl Enter' : 'for operators'}>
            Call
          </button>
          {isDangerous && <span class="warn-text">may destroy something: you are asked first</span>}
          {'text' in text && <Copies copied={{ name: entry.name, args: text.text, endpoint }} />}
        </div>
      </form>
      {isAsking && (
        <Confirm
          title={`Call ${entry.name}?`}
          act="Call it"
          run={() => {
            call();
            return Promise.resolve('');
          }}
          close={() => setAsking(false)}
        >
          <p>Its server says that it may destroy something, and it is called for real.</p>
        </Confirm>
      )}
      {attempt !== undefined && <Running attempt={attempt} entry={entry} />}
    </>
  );
}

function Copies({ copied }: { readonly copied: Copied }) {
  const processes = useLive<Processes>('processes');
  const at =
    processes.value?.processes.find(({ endpoint }) => endpoint !== undefined)?.endpoint ?? 'http://127.0.0.1:7300/mcp';
  return (
    <>
      <Copy text={commandFor(copied)} label="copy as omnibus call" />
      <Copy text={curlFor(copied, at)} label="copy as curl" />
    </>
  );
}
