/** The rules, limits, approvals, pinned definitions and strict audit of the chaos run, and the check of the audit afterwards. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { omnibusProgram, startProcess } from '../support/processes.ts';

/** Records of one batch, which a killed process may lose (docs/how-to/audit.md). */
const batchRecords = 100;

/** @param records the folder of the audit. */
export function governed(records: string): Readonly<Record<string, unknown>> {
  return {
    access: {
      default: 'allow',
      rules: [
        { id: 'never', who: 'everyone', deny: ['up/never'] },
        { id: 'careful', who: 'everyone', ask: ['up/careful'] },
        { id: 'keys', who: 'everyone', redact: ['up'], patterns: ['key'] },
      ],
    },
    // Far above actual use, so that no call is refused: the test is whether counting continues when processes end.
    limits: {
      rules: [
        {
          id: 'all',
          what: ['up', 'era'],
          per: 'server',
          rate: '100000/s',
          concurrency: 10_000,
          quota: '100000000/day',
          onUnknown: 'allow',
        },
      ],
    },
    audit: {
      strict: true,
      sinks: [{ kind: 'file', folder: records }],
      record: [
        { tool: 'up/*', arguments: { keep: ['/tag'] } },
        { tool: 'mine/*', arguments: { keep: ['/tag'] } },
      ],
    },
  };
}

export interface Evidence {
  /** Executed calls that are not read-only and have no record of their beginning. */
  readonly unrecorded: readonly string[];
  /** Calls with a successful answer that have no record of their end. */
  readonly endless: readonly string[];
  /** Number of those records that killed processes may have lost. */
  readonly mayLack: number;
  /** `verified`: exit status of `omnibus audit verify`; `harm`: its findings, except chains without an end. */
  readonly verified: number;
  readonly harm: readonly string[];
  /** Number of processes without a final record. */
  readonly open: number;
}

/** The audit's records of these calls, by which an execution that was one too many can be explained. */
export async function recordsOf(folder: string, tags: readonly string[]): Promise<readonly string[]> {
  if (tags.length === 0) return [];
  const files = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
  return files
    .flatMap((text) => text.split('\n'))
    .filter((line) => tags.some((tag) => line.includes(`"tag":"${tag}"`)));
}

/** @param executed tags of calls that the server has executed. @param answered tags of calls with a successful answer. */
export async function evidenceOf(
  records: string,
  executed: Iterable<string>,
  answered: Iterable<string>,
): Promise<Evidence> {
  const begun = new Set<string>();
  const ended = new Set<string>();
  for (const file of await readdir(records)) {
    for (const line of (await readFile(join(records, file), 'utf8')).split('\n')) {
      if (!line.endsWith('}')) continue;
      const record = JSON.parse(line) as {
        readonly 'omnibus.outcome'?: string;
        readonly 'omnibus.arguments'?: { readonly tag?: string };
      };
      const tag = record['omnibus.arguments']?.tag;
      if (tag !== undefined) (record['omnibus.outcome'] === 'started' ? begun : ended).add(tag);
    }
  }
  const verifying = startProcess('node', [omnibusProgram, 'audit', 'verify', records]);
  const verified = await new Promise<number>((resolve) => {
    verifying.child.once('close', (code) => resolve(code ?? -1));
  });
  const lines = verifying
    .output()
    .split('\n')
    .filter((line) => /^[A-Z ]+ {2}/.test(line));
  const open = lines.filter((line) => line.startsWith('OPEN  ')).length;
  return {
    unrecorded: [...executed].filter((tag) => !begun.has(tag)),
    endless: [...answered].filter((tag) => !ended.has(tag)),
    mayLack: open * batchRecords,
    verified,
    harm: lines.filter((line) => !line.startsWith('OPEN  ')),
    open,
  };
}
