/** The view "Try": calls a tool, gets a prompt or reads a resource from the page. */
import type { Catalogue as CatalogueAnswer, CatalogueEntry, Processes } from '@omnibus/admin-api';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLive } from '../api/live.ts';
import { ArgumentsForm, draftOf, readDraft } from '../form/form.tsx';
import type { Schema } from '../form/schema.ts';
import type { FieldProblem } from '../form/values.ts';
import { Confirm, Copy, Empty, Heading, Shown } from '../parts/basics.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { may } from '../parts/may.ts';
import { Said } from '../parts/said.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { hrefOf, place, setQuery } from '../route.ts';
import { numberWords } from '../words.ts';
import { AsClient, firstClient } from './as-client.tsx';
import { Attempt } from './attempt.ts';
import { commandFor, curlFor, type Copied } from './copies.ts';
import { Running } from './running.tsx';
import { TextBench } from './text-bench.tsx';

export function Try() {
  const { item } = place.value;
  return item === undefined ? (
    <Choose />
  ) : (
    <OneEntry key={`${item} ${place.value.query.get('endpoint') ?? ''} ${kindIn(place.value.query)}`} name={item} />
  );
}

const kindWords = { tool: 'tools', prompt: 'prompts', resource: 'resources', template: 'templates' } as const;
type Kind = keyof typeof kindWords;

function kindIn(query: URLSearchParams): Kind {
  const kind = query.get('kind') ?? '';
  return Object.hasOwn(kindWords, kind) ? (kind as Kind) : 'tool';
}

const columns: Columns<CatalogueEntry> = { Name: ({ name }) => name, Server: ({ server }) => server };

/** The list to choose from. */
function Choose() {
  const { query } = place.value;
  const q = query.get('q') ?? '';
  const kind = kindIn(query);
  const found = useLive<CatalogueAnswer>(
    `catalogue?${new URLSearchParams({ kind, ...(q === '' ? {} : { q }) }).toString()}`,
  );
  return (
    <>
      <Heading>Try</Heading>
      <div class="filters">
        <SearchField label="Search" placeholder="name or words of it" />
        <div class="buttons" role="group" aria-label="Kind">
          {Object.entries(kindWords).map(([each, words]) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === kind}
              onClick={() => setQuery({ kind: each === 'tool' ? '' : each })}
            >
              {words}
            </button>
          ))}
        </div>
      </div>
      <Shown live={found}>
        {(answer) =>
          answer.entries.length === 0 ? (
            <Empty why={q === '' ? `No server offers ${kindWords[kind]} yet.` : 'Nothing fits.'}>
              <a href={hrefOf('servers')}>Are the servers up?</a>
            </Empty>
          ) : (
            <Entries {...answer} kind={kind} />
          )
        }
      </Shown>
    </>
  );
}

function Entries({ entries, total, kind }: CatalogueAnswer & { readonly kind: Kind }) {
  const label = `What to try: ${kindWords[kind]}`;
  return (
    <>
      <Table label={label} head={['Name', 'Server', 'What it does']} sortable={columns}>
        {sorted(label, entries, columns).map((entry) => (
          <tr key={entry.name}>
            <td class="name">
              <a href={hrefOf('try', entry.name, { kind: kind === 'tool' ? undefined : kind })}>
                <Said text={entry.name} max={120} />
              </a>
              {entry.isForAskable === true && <span class="dim"> asks back</span>}
            </td>
            <td>
              <Said text={entry.server} max={80} />
            </td>
            <td class="wide">
              <Said text={entry.description ?? ''} max={160} />
            </td>
          </tr>
        ))}
      </Table>
      {total > entries.length && (
        <p class="dim">{`The first ${numberWords(entries.length)} of ${numberWords(total)}: search for the others.`}</p>
      )}
    </>
  );
}

function OneEntry({ name }: { readonly name: string }) {
  const { query } = place.value;
  const endpoint = query.get('endpoint') ?? '';
  const kind = kindIn(query);
  const found = useLive<CatalogueAnswer>(
    `catalogue?${new URLSearchParams({ kind, q: name, ...(endpoint === '' ? {} : { endpoint }) }).toString()}`,
  );
  const entry = found.value?.entries.find((each) => each.name === name);
  return (
    <>
      <Heading
        aside={<a href={hrefOf('try', undefined, { kind: kind === 'tool' ? undefined : kind })}>another {kind}</a>}
      >
        <Said text={name} max={120} />
      </Heading>
      <Shown live={found}>
        {() =>
          entry === undefined ? (
            <Empty why={`No ${kind} of this name is offered here.`}>
              <a href={hrefOf('catalogue', undefined, { q: name })}>Look for it in the catalogue</a>
            </Empty>
          ) : kind === 'tool' ? (
            <Bench entry={entry} endpoint={endpoint} given={query.get('arguments') ?? undefined} />
          ) : (
            <TextBench entry={entry} endpoint={endpoint} />
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
  const [client, setClient] = useState(firstClient);
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
    setAttempt(new Attempt({ endpoint, method: 'tools/call', name: entry.name, arguments: read.text, ...client }));
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isDangerous && !('problems' in readDraft(draft, schema))) setAsking(true);
    else call();
  };
  return (
    <>
      {entry.description !== undefined && <Said text={entry.description} max={600} isBlock />}
      {entry.isForAskable === true && (
        <p class="dim">Its server offers it only to clients that can be asked, as this page can.</p>
      )}
      <form class="bench" ref={form} onSubmit={submit} onKeyDown={onCtrlEnter(submit)} noValidate>
        <ArgumentsForm schema={schema} draft={draft} set={setDraft} problems={problems} />
        <NotRight problems={problems} />
        <AsClient client={client} set={setClient} />
        <div class="buttons">
          <button type="submit" class="strong" disabled={!mayChange} title={mayChange ? 'Ctrl Enter' : 'for operators'}>
            Call
          </button>
          {isDangerous && <span class="warn-text">may destroy something: you are asked first</span>}
          {'text' in text && <Copies copied={{ name: entry.name, args: text.text, endpoint }} />}
        </div>
      </form>
      {isAsking && <AskFirst name={entry.name} call={call} close={() => setAsking(false)} />}
      {attempt !== undefined && <Running attempt={attempt} entry={entry} />}
    </>
  );
}

const onCtrlEnter =
  (submit: (event: Event) => void) =>
  (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };

function NotRight({ problems }: { readonly problems: readonly FieldProblem[] }) {
  if (problems.length === 0) return null;
  const which = problems.length === 1 ? 'One field is' : `${problems.length} fields are`;
  const first = problems.slice(0, 10).map(({ path, problem }) => `${path}: ${problem}`);
  return <p class="field-problem" role="alert">{`${which} not right: ${first.join('; ')}`}</p>;
}

function AskFirst({
  name,
  call,
  close,
}: {
  readonly name: string;
  readonly call: () => void;
  readonly close: () => void;
}) {
  const run = (): Promise<string> => {
    call();
    return Promise.resolve('');
  };
  return (
    <Confirm title={`Call ${name}?`} act="Call it" run={run} close={close}>
      <p>Its server says that it may destroy something, and it is called for real.</p>
    </Confirm>
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
