/** The answers of a process that talks to servers to questions about their definitions. */
import type { Backend, ServerDefinitions } from '@omnibus/backend';
import { printable, type JsonObject } from '@omnibus/protocol';
import { z } from 'zod';
import type { Question } from './process-desk.ts';

/** Deviations of one server that are named; more of them are counted. */
const maxNamed = 500;
/** Characters of all differences in one answer: a message of the bus has at most a megabyte, and a character up to four bytes. */
const maxCharacters = 160_000;

const approval = z.object({ server: z.string(), approve: z.array(z.string()) });

/** @param process the name of this one: others leave an approval to it. */
export function definitionQuestions(
  process: string,
  backend: () => Pick<Backend, 'definitions' | 'approve' | 'records'> | undefined,
): Readonly<Record<string, Question>> {
  return {
    definitions: async ({ server }) => {
      const found = backend();
      if (found === undefined) return undefined;
      const { suspicionsOf } = await import('@omnibus/backend');
      const judged = new Map(found.definitions.map((each) => [each.server, each]));
      const signs = suspicionsOf(found);
      const chosen = found.records.filter((record) => server === undefined || record.server === server);
      return {
        servers: chosen.map(({ server: name }): JsonObject => ({
          server: name,
          ...shownOf(judged.get(name), server !== undefined),
          signs: (signs.get(name) ?? []).map((each) => ({ ...each })),
        })),
      };
    },
    'definitions-approve': async ({ to, ...args }) => {
      const found = backend();
      if (found === undefined || to !== process) return undefined;
      const { server, approve } = approval.parse(args);
      try {
        await found.approve(server, new Set(approve));
        return { approved: approve.length };
      } catch (error) {
        return { problem: printable((error as Error).message, 500) };
      }
    },
  };
}

/** @param isWhole whether to include differences. */
function shownOf(judged: ServerDefinitions | undefined, isWhole: boolean): JsonObject {
  if (judged === undefined) return { deviations: [], more: 0, held: 0 };
  const { mode, problem, deviations } = judged;
  let left = maxCharacters;
  const described = (deviation: ServerDefinitions['deviations'][number]): JsonObject => {
    const { differences, kind, name, why, isHeld, facets, risks, digest } = deviation;
    const shown: JsonObject[] = [];
    for (const each of isWhole ? differences : []) {
      left -= each.at.length + (each.before?.length ?? 0) + (each.after?.length ?? 0);
      if (left < 0) break;
      shown.push({ ...each });
    }
    return {
      kind,
      name,
      why,
      isHeld,
      facets: [...facets],
      risks: [...risks],
      digest,
      ...(isWhole ? { differences: shown, notShown: differences.length - shown.length } : {}),
    };
  };
  return {
    mode,
    ...(problem === undefined ? {} : { problem }),
    held: deviations.filter(({ isHeld }) => isHeld).length,
    deviations: deviations.slice(0, maxNamed).map(described),
    more: Math.max(0, deviations.length - maxNamed),
  };
}
