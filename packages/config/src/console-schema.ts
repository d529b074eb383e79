/** The console of a process, and the API behind it. */
import { z } from 'zod';
import { isOfThisMachine } from './loopback.ts';
import { offByDefault } from './plain-options.ts';

const mode = z.enum(['auto', 'off', 'read', 'full']);
const edit = z.enum(['no', 'addresses', 'programs']);

export const consoleSchema = z
  .union([
    mode,
    z.strictObject({
      mode: mode.default('auto').describe('The same as the word alone.'),
      payloads: offByDefault.describe(
        'Whether an operator may see arguments and results of watched calls, without text that looks secret. The log names the operator and the duration.',
      ),
      edit: edit
        .default('no')
        .describe(
          'Which servers an administrator may add, change and remove in the console, which writes the configuration file: none, those at addresses, or programs too. With `programs`, administrators of the console start programs on this machine as the user of the gateway.',
        ),
    }),
  ])
  .transform((given) => (typeof given === 'string' ? { mode: given, payloads: false, edit: 'no' as const } : given))
  .prefault('auto');

/** Served operations: all, reads only, or none. */
export type ConsoleMode = 'off' | 'read' | 'full';

interface Asked {
  readonly console: z.output<typeof consoleSchema>;
  /** HOST:PORT. */
  readonly admin: string;
  readonly auth?: 'none' | { readonly admin?: unknown } | undefined;
}

/** An unknown client of an open address may read at most, and only if the configuration says so. */
export function consoleMode({ console: { mode: asked }, admin, auth }: Asked): ConsoleMode {
  const isGuarded = isOfThisMachine(admin) || (auth !== undefined && auth !== 'none' && auth.admin !== undefined);
  if (asked === 'auto') return isGuarded ? 'full' : 'off';
  return asked === 'full' && !isGuarded ? 'read' : asked;
}
