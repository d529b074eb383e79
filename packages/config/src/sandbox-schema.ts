/** The schema of `sandbox`: the resources of this machine for the program of a server (docs/how-to/security.md). */
import { z } from 'zod';
import { nonEmpty, offByDefault, optionalText } from './plain-options.ts';

const places = z.array(nonEmpty).max(100).default([]);

export const sandboxSchema = z.strictObject({
  network: offByDefault.describe(
    'Whether the program may use the network. false: it has none, and cannot reach this machine either.',
  ),
  read: places.describe(
    'Files and folders that the program may read, in addition to the programs and libraries of the system, itself, and `cwd`. A relative path starts at the folder of the configuration file.',
  ),
  write: places.describe('Files and folders that the program may read and change.'),
  home: optionalText.describe(
    "A folder that is the program's home folder, which it may change. Default: an empty one, which is gone when the program ends.",
  ),
});
