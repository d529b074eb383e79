/** The findings of `omnibus doctor` about composite tools: steps that call tools which their servers do not list. */
import type { Config } from '@omnibus/config';
import { printable, type CatalogRecord } from '@omnibus/protocol';
import type { Finding } from '../commands/finding.ts';

/** @param records of servers. A server that is down, or shows each user other tools, is not judged. */
export function compositeFindings({ composites }: Config, records: readonly CatalogRecord[]): readonly Finding[] {
  const listed = new Map(
    records.flatMap(({ server, status, owners, lists, offers = [] }) =>
      status === 'up' && owners === undefined
        ? [
            [
              String(server),
              new Set<unknown>([
                ...lists.tools.map(({ name }) => name),
                ...offers.flatMap(({ lists: { tools } }) => (tools?.entries ?? []).map(({ name }) => name)),
              ]),
            ] as const,
          ]
        : [],
    ),
  );
  return Object.entries(composites).flatMap(([name, { steps }]) =>
    steps.flatMap(({ id, call }): readonly Finding[] => {
      const at = call.indexOf('/');
      const tools = listed.get(call.slice(0, at));
      return tools === undefined || tools.has(call.slice(at + 1))
        ? []
        : [
            {
              about: `composite tool ${name}`,
              state: 'warning',
              text: `its step "${id}" calls ${printable(call, 200)}, which the server does not list, so no caller sees the tool`,
              advice: 'Write the name that the server gives the tool; "omnibus tools" lists the names.',
            },
          ];
    }),
  );
}
