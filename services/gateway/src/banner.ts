/** What a person at a terminal sees when the gateway is up. */
import { printable, type CatalogRecord } from '@omnibus/protocol';

const clientName = 'omnibus';

export function banner(endpoint: string, adminAddress: string | undefined, records: readonly CatalogRecord[], warnings: readonly string[]): string {
  const width = Math.max(0, ...records.map(({ server }) => server.length));
  const rows = records.map((record) => `    ${record.status === 'up' ? '✓' : '✗'} ${record.server.padEnd(width)}  ${describe(record)}`);
  const vscode = JSON.stringify({ name: clientName, type: 'http', url: endpoint });
  return [
    '',
    `  Omnibus   ${endpoint}`,
    `  admin     http://${adminAddress ?? ''}/metrics`,
    '',
    `  servers   ${records.filter(({ status }) => status === 'up').length} of ${records.length} up`,
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

function describe({ status, problem, lists }: CatalogRecord): string {
  if (status === 'down') return `down: ${printable(problem ?? 'not connected')}`;
  return [count(lists.tools.length, 'tool'), count(lists.prompts.length, 'prompt'), count(lists.resources.length + lists.resourceTemplates.length, 'resource')].join(', ');
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
