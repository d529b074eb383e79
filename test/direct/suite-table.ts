/** Writes docs/internals/suites.md: the results of the official suites directly and through the gateway. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../support/processes.ts';
import { impossibleWithOthers, passed, titleOf, type Differing, type Run, type Score } from './scores.ts';

export interface Row {
  readonly server: string;
  readonly run: Run;
  readonly endpoint: string;
  readonly direct: Score;
  readonly through: Score;
  readonly differing: readonly Differing[];
  readonly isOfOtherEra: boolean;
}

/** The run writes the documents only if it is complete and this is set. */
export const isWritten = process.env['OMNIBUS_DIRECT'] === 'write';

/** Scenarios that a cell names. */
const maxNamed = 6;
const endpoints: Readonly<Record<string, string>> = { asked: 'its own', shared: 'with four more' };

function only(row: Row, failsThrough: boolean): string {
  const found = row.differing.filter((each) => each.failsThrough === failsThrough);
  if (found.length === 0) return '–';
  if (!failsThrough && row.isOfOtherEra) return `${found.length} checks of the era that the server does not speak`;
  const scenarios = [...new Set(found.map(({ scenario }) => scenario))];
  if (scenarios.length > maxNamed) return `${found.length} checks of ${scenarios.length} scenarios`;
  return scenarios
    .map((scenario) => {
      const count = found.filter((each) => each.scenario === scenario).length;
      return count === 1 ? `\`${scenario}\`` : `\`${scenario}\` (${count} checks)`;
    })
    .join(', ');
}

/** @param rows in the order of the table. */
export async function writeTable(rows: readonly Row[]): Promise<void> {
  const lines = rows.map((row) =>
    [
      titleOf(row.run),
      row.server,
      endpoints[row.endpoint] ?? row.endpoint,
      `${passed(row.direct)} of ${row.direct.size}`,
      `${passed(row.through)} of ${row.through.size}`,
      only(row, true),
      only(row, false),
    ].join(' | '),
  );
  const reasons = impossibleWithOthers.map(
    ({ server, check, why }) => `- \`${check.source}\`, ${server.source.replace('^', '')}: ${why}`,
  );
  await writeFile(
    join(root, 'docs/internals/suites.md'),
    `<!-- Written by \`OMNIBUS_DIRECT=write npm test -- test/direct/direct.test.ts\`. -->

# The official suites, directly and through the gateway

The official conformance suites run against one server on the SDK of each language: directly, at an endpoint of the gateway with that server alone, and at one with
four more servers. \`OMNIBUS_DIRECT=all npm test -- test/direct/direct.test.ts\` compares them check by check and fails where a check passes directly and fails
through the gateway; with \`OMNIBUS_DIRECT=write\` it also writes this page.

"Passed" counts scenarios without a failed check. What passes through the gateway only is explained in [differences](../reference/differences.md): the gateway
checks headers, keeps streams that can be resumed, and speaks the era that a server does not speak.

| suite | server | endpoint | passed directly | passed through the gateway | fails through the gateway only | passes through the gateway only |
|---|---|---|---|---|---|---|
${lines.map((line) => `| ${line} |`).join('\n')}

## What cannot pass at an endpoint with other servers

${reasons.join('\n')}
`,
  );
}
