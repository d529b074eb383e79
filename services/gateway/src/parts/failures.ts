/** The latest failed calls, which session workers note and the admin port shows. */
import { Failures } from '@omnibus/telemetry';
import type { Part } from '../part.ts';

export const failures: Part<Failures> = {
  name: 'the list of failures',
  start: () => ({ offers: new Failures() }),
};
