/** Audit records, as the API searches and verifies them. */
import { z } from 'zod';
import { missing } from './state.ts';

const counted = z.int().nonnegative();
const source = z.string().max(200).describe('Where records are: `nats`, or the digest of a folder of a machine.');

export const auditRow = z.object({
  source,
  writer: z.string().describe('The process that has written it.'),
  seq: counted.describe('Its number in the chain of its writer.'),
  at: z.string().describe('Where it is read again: `at` of the page of one record.'),
  time: z.string().describe('ISO 8601.'),
  event: z.string(),
  who: z.string().optional(),
  server: z.string().optional(),
  what: z.string().optional().describe('The tool, prompt, address or method.'),
  outcome: z.string().optional(),
  why: z.string().optional(),
  ms: z.number().optional(),
});
export type AuditRow = z.output<typeof auditRow>;

const auditSource = z.object({
  source,
  kind: z.enum(['jetstream', 'file']),
  place: z.string(),
  process: z.string().describe('The process that reads it.'),
});

export const auditRecords = z.object({
  isRecorded: z.boolean().describe('False where no audit is configured.'),
  sources: z.array(auditSource),
  elsewhere: z.array(z.string()).describe('Sinks that cannot be searched here.'),
  records: z.array(auditRow).describe('The latest first. Of several folders, those of each page together.'),
  next: z
    .string()
    .optional()
    .describe('`cursor` of the next page. A page may be empty and have a next one: it ends after a time, too.'),
  looked: counted.describe('Records that were read for this page.'),
  bytes: counted,
  reached: z.string().optional().describe('Time of the oldest record that was read.'),
  missing,
});
export type AuditRecords = z.output<typeof auditRecords>;

export const auditRecord = z.object({
  row: auditRow,
  record: z.string().describe('The whole record, a line of JSON exactly as it was written.'),
  chain: z.object({
    prev: z.string().describe('The hash before it; empty for the first record of its writer.'),
    hash: z.string(),
    isGenuine: z.boolean().describe('Whether the hash is that of the record.'),
    follows: z
      .enum(['yes', 'no', 'first', 'unknown'])
      .describe('Whether the record before it has the hash that it names.'),
  }),
});
export type AuditRecord = z.output<typeof auditRecord>;

const auditFinding = z.object({ weight: z.enum(['harm', 'foreign', 'gap', 'open']), text: z.string() });
/** What `verify` has read so far. */
export const auditProgress = z.object({ records: counted, bytes: counted });
export const auditVerified = auditProgress.extend({
  writer: z.string(),
  isWhole: z.boolean().describe('False where it ended at a limit before the end of the chain.'),
  checkpoints: counted,
  findings: z.array(auditFinding).max(200),
});
export type AuditVerified = z.output<typeof auditVerified>;

const name = z.string().min(1).max(300).optional();
const when = z.string().max(64).optional();
export const auditQuery = z.object({
  who: name.describe(
    'A user, principal, client, key or address; `abc*` stands for all that begin with abc. So do the other names.',
  ),
  server: name,
  tool: name.describe('A tool or prompt.'),
  event: name.describe('`mcp.call`, `auth.refused`, `admin.*`.'),
  outcome: name,
  session: name.describe('The digest of a session, `mcp.session.id`.'),
  since: when.describe('ISO 8601, or `15m`, `2h`, `7d` ago.'),
  until: when.describe('Written like `since`.'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.string().max(12_000).optional(),
});
export const recordQuery = z.object({ source, at: z.string().max(200) });
export const verifyQuery = z.object({ source, writer: z.string().min(1).max(200) });
