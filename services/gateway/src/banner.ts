/** The text that is printed on a terminal once the gateway is ready. */
import { printable, type CatalogRecord } from '@omnibus/protocol';

const clientName = 'omnibus';

/** @param consoleUrl where the page of the console is served; undefined where it is not. */
export function banner(endpoint: string, consoleUrl: string | undefined, records: readonly CatalogRecord[], warnings: readonly string[]): string {
  const width = Math.max(0, ...records.map(({ server }) => server.length));
  const rows = records.map((record) => `    ${row(record, width)}`);
  const vscode = JSON.stringify({ name: clientName, type: 'http', url: endpoint });
  return [
    '',
    `  Omnibus   ${endpoint}`,
    ...(consoleUrl === undefined ? [] : [`  console   ${consoleUrl}`]),
    '',
    `  servers   ${upOf(records)} up`,
    ...rows,
    ...warnings.flatMap((warning) => ['', `  warning   ${warning}`]),
    '',
    '  connect',
    `    Claude Code   claude mcp add --transport http ${clientName} ${endpoint}`,
    `    Cursor        add to ~/.cursor/mcp.json:  ${JSON.stringify({ mcpServers: { [clientName]: { url: endpoint } } })}`,
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
  return `${record.status === 'up' ? '✓' : isConnecting(record) ? '…' : '✗'} ${record.server.padEnd(width)}  ${describe(record)}`;
}

/** Whether the server has neither been up nor failed yet. */
export function isConnecting({ status, problem }: CatalogRecord): boolean {
  return status === 'down' && problem === 'it is still connecting';
}

function describe({ status, problem, lists }: CatalogRecord): string {
  if (isConnecting({ status, problem } as CatalogRecord)) return 'is still connecting';
  if (status === 'down') return `down: ${printable(problem ?? 'not connected')}`;
  return [count(lists.tools.length, 'tool'), count(lists.prompts.length, 'prompt'), count(lists.resources.length + lists.resourceTemplates.length, 'resource')].join(', ');
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
