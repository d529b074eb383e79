/** The text that is printed on a terminal once the gateway is ready. */
import { takesKeysOnly, type Config } from '@omnibus/config';
import { printable, unfitWords, type CatalogRecord } from '@omnibus/protocol';

const clientName = 'omnibus';
/** Listened at, these are all addresses of a machine; to connect to, they are none. */
const everyAddress = /\/\/(0\.0\.0\.0|\[::\])(?=[:/])/;

export interface Shown {
  /** Where this process listens for clients. */
  readonly endpoint: string;
  readonly config: Pick<Config, 'auth' | 'publicUrl'>;
  /** Where the page of the console is served; undefined where it is not. */
  readonly consoleUrl: string | undefined;
  readonly records: readonly CatalogRecord[];
  readonly warnings: readonly string[];
}

export function banner({ endpoint, config, consoleUrl, records, warnings }: Shown): string {
  const width = Math.max(0, ...records.map(({ server }) => server.length));
  const rows = records.map((record) => `    ${row(record, width)}`);
  // Tokens are for the public address, and clients refuse to send them to another one.
  const address = config.publicUrl === undefined ? endpoint.replace(everyAddress, '//HOST') : `${config.publicUrl}/mcp`;
  const headers = takesKeysOnly(config) ? { Authorization: 'Bearer KEY' } : undefined;
  const places = [
    ...(headers === undefined ? [] : ['an API key in the place of KEY (omnibus keys create --subject NAME)']),
    ...(address.includes('//HOST') ? ['the name or address of this machine in the place of HOST'] : []),
  ];
  const vscode = JSON.stringify({ name: clientName, type: 'http', url: address, headers });
  return [
    '',
    `  Omnibus   ${endpoint}`,
    ...(config.publicUrl === undefined ? [] : [`  clients   ${address}`]),
    ...(consoleUrl === undefined ? [] : [`  console   ${consoleUrl}`]),
    '',
    `  servers   ${upOf(records)} up`,
    ...rows,
    ...warnings.flatMap((warning) => ['', `  warning   ${warning}`]),
    '',
    `  connect${places.length === 0 ? '' : `   with ${places.join(' and ')}`}`,
    `    Claude Code   claude mcp add --transport http ${clientName} ${address}${headers === undefined ? '' : ` --header "Authorization: ${headers.Authorization}"`}`,
    `    Cursor        add to ~/.cursor/mcp.json:  ${JSON.stringify({ mcpServers: { [clientName]: { url: address, headers } } })}`,
    `    VS Code       code --add-mcp '${vscode}'`,
    '',
    '  Ctrl-C stops it.',
    '',
  ].join('\n');
}

/** Lines with the present state of the servers that were still connecting when the banner was printed. */
export function laterLines(records: readonly CatalogRecord[], late: ReadonlySet<string>): string {
  const width = Math.max(0, ...[...late].map((server) => server.length));
  return [
    `  servers   ${upOf(records)} up`,
    ...records.filter(({ server }) => late.has(server)).map((record) => `    ${row(record, width)}`),
  ].join('\n');
}

function upOf(records: readonly CatalogRecord[]): string {
  return `${records.filter(({ status }) => status === 'up').length} of ${records.length}`;
}

function row(record: CatalogRecord, width: number): string {
  const isWhole = record.unread === undefined || record.unread.length === 0;
  return `${record.status === 'up' ? (isWhole ? '✓' : '!') : isConnecting(record) ? '…' : '✗'} ${record.server.padEnd(width)}  ${describe(record)}`;
}

/** Whether the server has neither been up nor failed yet. */
export function isConnecting({ status, problem }: CatalogRecord): boolean {
  return status === 'down' && problem === 'it is still connecting';
}

function describe({ status, problem, lists, leftOut = 0, unfit = [], unread = [] }: CatalogRecord): string {
  if (isConnecting({ status, problem } as CatalogRecord)) return 'is still connecting';
  if (status === 'down') return `down: ${printable(problem ?? 'not connected')}`;
  const offered = [
    unread.includes('tools') ? 'its tools are not read' : count(lists.tools.length, 'tool'),
    count(lists.prompts.length, 'prompt'),
    count(lists.resources.length + lists.resourceTemplates.length, 'resource'),
  ].join(', ');
  if (unread.length > 0) return problem === undefined ? offered : `${offered}: ${printable(problem)}`;
  if (leftOut === 0) return offered;
  const [first] = unfit;
  return `${offered}; ${leftOut} left out${first === undefined ? '' : `: ${unfitWords(first)}`}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
