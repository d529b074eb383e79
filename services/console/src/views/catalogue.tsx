/** The view "Catalogue": tools, prompts and resources of an endpoint, with their names and arguments. */
import type { Catalogue as Answer, CatalogueEntry } from '@omnibus/admin-api';
import { useEffect } from 'preact/hooks';
import { useLive } from '../api/live.ts';
import { Command, Copy, Empty, Heading, Shown } from '../parts/basics.tsx';
import { EndpointField } from '../parts/endpoint-field.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { Missing } from '../parts/missing.tsx';
import { usePages } from '../parts/pages.tsx';
import { Unfit } from '../parts/found.tsx';
import { Said } from '../parts/said.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { fieldsOf, typeWords, type Schema } from '../form/schema.ts';
import { hrefOf, place, setQuery } from '../route.ts';
import { count, numberWords } from '../words.ts';

const kinds = ['tool', 'prompt', 'resource', 'template'] as const;

/** Why a name differs from the server's own, in words; that its server stands in front needs none. */
const renamedWords: Readonly<Record<Exclude<NonNullable<CatalogueEntry['renamed']>, 'prefixed'>, string>> = {
  shortened: 'shortened to 64 characters',
  configured: 'renamed by the configuration',
  cleaned: 'characters that models do not take',
  alias: 'two servers have this address',
};

function pathOf(query: URLSearchParams, cursor?: string): string {
  const asked = new URLSearchParams();
  for (const name of ['endpoint', 'q', 'kind', 'server'])
    if ((query.get(name) ?? '') !== '') asked.set(name, query.get(name) as string);
  if (cursor !== undefined) asked.set('cursor', cursor);
  return `catalogue?${asked.toString()}`;
}

export function Catalogue() {
  const { item, query } = place.value;
  const path = pathOf(query);
  const first = useLive<Answer>(path);
  return (
    <>
      <Heading aside={first.value !== undefined && count(first.value.total, 'entry', 'entries')}>Catalogue</Heading>
      <Filters endpoints={first.value?.endpoints ?? []} />
      <Shown live={first}>
        {(value) => (
          <>
            <Missing missing={value.missing} />
            {value.entries.length === 0 ? (
              <None query={query} />
            ) : (
              <Pages key={path} first={value} path={path} chosen={item} />
            )}
            <LeftOut {...value} />
          </>
        )}
      </Shown>
    </>
  );
}

function Filters({ endpoints }: { readonly endpoints: Answer['endpoints'] }) {
  const { query } = place.value;
  const set =
    (name: string) =>
    (event: { readonly currentTarget: { readonly value: string } }): void =>
      setQuery({ [name]: event.currentTarget.value });
  return (
    <div class="filters">
      <SearchField label="Search" placeholder="name or words of it" />
      <label>
        Kind{' '}
        <select value={query.get('kind') ?? ''} onChange={set('kind')}>
          <option value="">all</option>
          {kinds.map((kind) => (
            <option key={kind} value={kind}>
              {kind}
            </option>
          ))}
        </select>
      </label>
      <EndpointField endpoints={endpoints} />
      <label>
        Server <input value={query.get('server') ?? ''} placeholder="any" size={12} onInput={set('server')} />
      </label>
    </div>
  );
}

function None({ query }: { readonly query: URLSearchParams }) {
  if ([...query.values()].some((value) => value !== ''))
    return <Unfit why="Nothing fits." query={{ q: '', kind: '', server: '', endpoint: '' }} />;
  return (
    <Empty why="No server offers anything yet.">
      <a href={hrefOf('servers')}>Are they up?</a> <Command text="omnibus doctor" /> says what is wrong with them.
    </Empty>
  );
}

const columns: Columns<CatalogueEntry> = {
  'Name for clients': ({ name }) => name,
  Server: ({ server }) => server,
  'Name there': ({ ownName }) => ownName,
  Kind: ({ kind }) => kind,
  Takes: ({ inputSchema }) => (inputSchema === undefined ? undefined : fieldsOf(inputSchema).length),
};
const head = ['Name for clients', 'Server', 'Name there', 'Kind', 'Takes', 'Act'];

/** The pages of the catalogue. The first page is refreshed; further ones stay as they were when they were requested. */
function Pages({
  first,
  path,
  chosen,
}: {
  readonly first: Answer;
  readonly path: string;
  readonly chosen: string | undefined;
}) {
  const query = new URLSearchParams(path.slice(path.indexOf('?')));
  const { pages, more } = usePages(first, (cursor) => pathOf(query, cursor));
  const entries = pages.flatMap((page) => page.entries);
  return (
    <>
      {chosen !== undefined && !entries.some(({ name }) => name === chosen) && <Elsewhere name={chosen} />}
      <Table label="Catalogue" head={head} sortable={columns}>
        {sorted('Catalogue', entries, columns).map((entry) => (
          <Row key={`${entry.kind} ${entry.name}`} entry={entry} isChosen={chosen === entry.name} />
        ))}
      </Table>
      {more(`More (${numberWords(entries.length)} of ${numberWords(first.total)})`)}
    </>
  );
}

/** An entry of an opened address that is on no displayed page. */
function Elsewhere({ name }: { readonly name: string }) {
  const found = useLive<Answer>(
    pathOf(new URLSearchParams({ q: name, endpoint: place.value.query.get('endpoint') ?? '' })),
  );
  const entry = found.value?.entries.find((each) => each.name === name);
  return entry === undefined ? null : (
    <Table label="The chosen entry" head={head}>
      <Row entry={entry} isChosen />
    </Table>
  );
}

function Row({ entry, isChosen }: { readonly entry: CatalogueEntry; readonly isChosen: boolean }) {
  const { kind, name, ownName, server, renamed, inputSchema } = entry;
  const fields = inputSchema === undefined ? undefined : fieldsOf(inputSchema);
  const query = Object.fromEntries(place.value.query);
  return (
    <>
      <tr class={isChosen ? 'chosen' : undefined}>
        <td>
          <a href={hrefOf('catalogue', isChosen ? undefined : name, query)} aria-expanded={isChosen}>
            <Said text={name} max={120} />
          </a>
        </td>
        <td>
          <a href={hrefOf('servers', server)}>{server}</a>
        </td>
        <td>
          <Said text={ownName} max={120} />
          {renamed !== undefined && renamed !== 'prefixed' && (
            <span class="dim">{` ${renamedWords[renamed] ?? renamed}`}</span>
          )}
        </td>
        <td>{kind}</td>
        <td>{fields !== undefined && count(fields.length, 'field')}</td>
        <td>
          <a
            class="button"
            href={hrefOf('try', name, { endpoint: query['endpoint'], kind: kind === 'tool' ? undefined : kind })}
          >
            Try<span class="unseen"> {name}</span>
          </a>
        </td>
      </tr>
      {isChosen && (
        <tr class="card">
          <td colSpan={head.length}>
            <Card {...entry} />
          </td>
        </tr>
      )}
    </>
  );
}

const hints = [
  ['readOnlyHint', true, 'only reads'],
  ['destructiveHint', true, 'may destroy'],
  ['idempotentHint', true, 'may be repeated'],
  ['openWorldHint', true, 'reaches the outside world'],
] as const;

function Card({
  name,
  title,
  description,
  annotations = {},
  inputSchema,
  outputSchema,
  arguments: given,
  mimeType,
}: CatalogueEntry) {
  const says = hints.filter(([hint, value]) => annotations[hint] === value).map(([, , words]) => words);
  useEffect(() => document.querySelector('tr.card')?.scrollIntoView({ block: 'nearest' }), [name]);
  return (
    <>
      {title !== undefined && (
        <h2>
          <Said text={title} />
        </h2>
      )}
      {description === undefined ? (
        <p class="dim">Its server says nothing about it.</p>
      ) : (
        <Said text={description} max={2_000} isBlock />
      )}
      {says.length > 0 && (
        <p>
          {says.join(' · ')} <span class="dim">(as its server says)</span>
        </p>
      )}
      {mimeType !== undefined && <p>{mimeType}</p>}
      {inputSchema !== undefined && <Takes name={name} inputSchema={inputSchema} />}
      {Object.entries({
        Arguments: given,
        'Schema of what it takes': inputSchema,
        'Schema of what it answers': outputSchema,
      }).map(
        ([label, value]) =>
          value !== undefined && (
            <details key={label}>
              <summary>{label}</summary>
              <Copy text={JSON.stringify(value, null, 2)} />
              <Said text={JSON.stringify(value, null, 2)} max={10_000} isBlock />
            </details>
          ),
      )}
    </>
  );
}

function Takes({ name, inputSchema }: { readonly name: string; readonly inputSchema: Schema }) {
  const fields = fieldsOf(inputSchema);
  if (fields.length === 0) return null;
  return (
    <Table label={`Fields of ${name}`} head={['Field', 'Type', 'Needed', 'What it is']}>
      {fields.map(({ name: field, schema, isRequired }) => (
        <tr key={field}>
          <td>
            <code>
              <Said text={field} max={80} />
            </code>
          </td>
          <td>
            <Said text={typeWords(schema)} max={200} />
          </td>
          <td>{isRequired ? 'yes' : 'no'}</td>
          <td>
            <Said text={typeof schema['description'] === 'string' ? schema['description'] : ''} max={300} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function LeftOut({ problems, unreachable }: Answer) {
  if (problems.length + unreachable.length === 0) return null;
  return (
    <section aria-label="What is not there">
      <h2>What is not there</h2>
      <ul>
        {unreachable.map(({ server, problem }) => (
          <li key={server}>
            <a href={hrefOf('servers', server)}>{server}</a> <Said text={problem} max={300} />
          </li>
        ))}
        {problems.map((problem) => (
          <li key={problem}>
            <Said text={problem} max={300} />
          </li>
        ))}
      </ul>
    </section>
  );
}
