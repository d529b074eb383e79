/** One server of the configuration file, as it is edited in the console. */
import { z } from 'zod';

const serverEntry = z.object({
  file: z.string(),
  digest: z.string().describe('Of the file as it is now; a change names it.'),
  entry: z
    .string()
    .optional()
    .describe('Its options as YAML, with `•••` for each secret. Left out if the file has none.'),
});
export type ServerEntry = z.output<typeof serverEntry>;

const entryChange = z.strictObject({
  entry: z
    .string()
    .max(12_000)
    .nullable()
    .describe('The options of the server as YAML; null removes the server. `•••` keeps the secret that stands there.'),
  digest: z
    .string()
    .max(100)
    .optional()
    .describe('Of the file as the change was shown. With it, the change is written; without it, it is only shown.'),
});

const entryChanged = z.object({
  file: z.string(),
  digest: z.string().describe('Of the file before the change.'),
  difference: z.array(z.string()).describe('Lines of the file: `- ` before those removed, `+ ` before those added.'),
  warnings: z.array(z.string()),
  starts: z.string().optional().describe('The program that the server then starts on the machine of the gateway.'),
  isWritten: z.boolean(),
  problems: z.array(z.string()).describe('Why the gateway goes on with the configuration from before, if it does.'),
});
export type EntryChanged = z.output<typeof entryChanged>;

const path = '/servers/{name}/entry';

export const entryOperations = {
  entry: {
    method: 'get',
    path,
    summary: 'What the configuration file says of a server.',
    answer: serverEntry,
  },
  changeEntry: {
    method: 'post',
    path,
    followsConsole: true,
    summary:
      'Adds, changes or removes a server in the configuration file, where `console.edit` permits it: first the difference is shown, then it is written.',
    body: entryChange,
    answer: entryChanged,
  },
} as const;
