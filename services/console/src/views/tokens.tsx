/** The view "Tokens": the cost of an endpoint's tools for a model in each conversation, and the savings of each measure. */
import type { Tokens as Answer } from '@omnibus/admin-api';
import { useLive } from '../api/live.ts';
import { Command, Empty, Heading, Shown } from '../parts/basics.tsx';
import { EndpointField } from '../parts/endpoint-field.tsx';
import { Missing } from '../parts/missing.tsx';
import { Said } from '../parts/said.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { hrefOf, place } from '../route.ts';
import { count, numberWords } from '../words.ts';

/** Definitions of tools seldom change. */
const everyMs = 10_000;

export function Tokens() {
  const { item, query } = place.value;
  const endpoint = query.get('endpoint') ?? '';
  const asked = new URLSearchParams();
  if (endpoint !== '') asked.set('endpoint', endpoint);
  if (item !== undefined) asked.set('server', item);
  const costs = useLive<Answer>(`tokens?${asked.toString()}`, everyMs);
  const { value } = costs;
  return (
    <>
      <Heading aside={value !== undefined && count(value.total.tokens, 'token')}>Tokens</Heading>
      <p>
        What definitions of tools cost a model in each conversation, counted as characters / 4. A tokenizer of a model
        counts otherwise; ratios stay about the same.
      </p>
      <div class="filters">
        <EndpointField endpoints={value?.endpoints ?? []} />
      </div>
      <Shown live={costs}>
        {(answer) => (
          <>
            <Missing missing={answer.missing} />
            {answer.total.tools === 0 ? <None of={item} /> : <Costs {...answer} of={item} />}
          </>
        )}
      </Shown>
    </>
  );
}

function None({ of }: { readonly of: string | undefined }) {
  return of === undefined ? (
    <Empty why="No server offers a tool here yet.">
      <a href={hrefOf('servers')}>Are they up?</a> <Command text="omnibus doctor" /> says what is wrong with them.
    </Empty>
  ) : (
    <Empty why={`${of} offers no tool here.`}>
      <a href={hrefOf('tokens')}>Show all servers</a>
    </Empty>
  );
}

type CostsProps = Answer & { readonly of: string | undefined };

function Costs(answer: CostsProps) {
  const { listed, saved } = answer;
  return (
    <>
      {answer.of === undefined && (
        <p>
          The list has {count(listed.tools, 'tool')} in <strong>{count(listed.tokens, 'token')}</strong> now (
          <code>{`listing: ${listed.mode}`}</code>
          {listed.isSlim && ', slim'}).
          {saved.results > 0 &&
            ` Bounds have shortened ${count(saved.results, 'result')} by ${count(saved.tokens, 'token')} since the gateway started.`}
        </p>
      )}
      <Rows {...answer} />
      <Measures {...answer} />
    </>
  );
}

type Row = Answer['rows'][number];

function Rows({ rows, others, total, of }: CostsProps) {
  const first = of === undefined ? 'Server' : 'Tool';
  const columns: Columns<Row> = {
    [first]: ({ name }) => name,
    ...(of === undefined ? { Tools: ({ tools }) => tools } : {}),
    Tokens: ({ tokens }) => tokens,
    Share: ({ tokens }) => tokens,
    Slim: ({ slim }) => slim,
  };
  const endpoint = place.value.query.get('endpoint') ?? undefined;
  const cells = ({ tools, tokens, slim }: Omit<Row, 'name'>) => (
    <>
      {of === undefined && <td class="number">{numberWords(tools)}</td>}
      <td class="number">{numberWords(tokens)}</td>
      <td class="nowrap">
        <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
          <rect width={(100 * tokens) / total.tokens} height="8" />
        </svg>{' '}
        {percent(tokens, total.tokens)}
      </td>
      <td class="number">{numberWords(slim)}</td>
    </>
  );
  const label = of === undefined ? 'Tokens by server' : `Tokens of ${of} by tool`;
  return (
    <>
      {of !== undefined && (
        <p>
          <a href={hrefOf('tokens', undefined, { endpoint })}>All servers</a> › <strong>{of}</strong>
        </p>
      )}
      <Table label={label} head={Object.keys(columns)} sortable={columns}>
        {sorted(label, rows, columns).map((row) => (
          <tr key={row.name}>
            <td>
              {of === undefined ? (
                <a href={hrefOf('tokens', row.name, { endpoint })}>{row.name}</a>
              ) : (
                <Said text={row.name} max={120} />
              )}
            </td>
            {cells(row)}
          </tr>
        ))}
        {others !== undefined && (
          <tr>
            <td class="dim">{`${numberWords(others.rows)} more`}</td>
            {cells(others)}
          </tr>
        )}
        <tr class="sum">
          <td>
            <strong>in all</strong>
          </td>
          {cells(total)}
        </tr>
      </Table>
    </>
  );
}

interface Measure {
  readonly name: string;
  /** Lines of the configuration that take the measure; undefined: a part of the one before. */
  readonly option?: string;
  readonly tokens: number;
}

const measureColumns: Columns<Measure> = {
  Measure: ({ name }) => name,
  Tokens: ({ tokens }) => tokens,
  Saved: ({ tokens }) => -tokens,
};

/** Search and code have a list of one size, whatever is behind it. */
function Measures({ total, savings, search, code, bounded, of }: CostsProps) {
  const measures: readonly Measure[] = [
    { name: 'All tools', option: 'listing: full', tokens: total.tokens },
    { name: 'Slim definitions', option: 'listing: { slim: true }', tokens: total.slim },
    ...savings
      .filter(({ tokens }) => tokens > 0)
      .map(({ what, tokens }) => ({ name: `without ${what}`, tokens: total.tokens - tokens })),
    { name: 'Bounds on results', option: 'results: { maxTokens: 2000 }', tokens: bounded },
    ...(of === undefined
      ? [
          { name: 'Search', option: 'listing: search', tokens: search },
          { name: 'Code', option: 'listing: code', tokens: code },
        ]
      : []),
  ];
  return (
    <>
      <h2>Measures</h2>
      <p>
        Each alone, at the top of the configuration or in a profile. <Command text="omnibus docs few-tools" />
      </p>
      <Table label="Measures" head={['Measure', 'Option', 'Tokens', 'Saved']} sortable={measureColumns}>
        {sorted('Measures', measures, measureColumns).map(({ name, option, tokens }) => (
          <tr key={name}>
            <td class={option === undefined ? 'dim' : undefined}>{name}</td>
            <td>{option === undefined ? <span class="dim">a part of slim</span> : <code>{option}</code>}</td>
            <td class="number">{numberWords(tokens)}</td>
            <td class="number">{percent(total.tokens - tokens, total.tokens)}</td>
          </tr>
        ))}
      </Table>
      <p class="dim">
        A bound on results leaves output schemas out of the list, since a shortened result does not fit them. It saves
        most in the results themselves.
      </p>
    </>
  );
}

function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0 %';
  const share = (100 * part) / whole;
  return share < 0.1 ? '< 0.1 %' : `${share.toFixed(1)} %`;
}
