import { expect, it } from 'vitest';
import { foreignSign } from './failure.ts';

it('what is said of a process that speaks another format names its version as far as that can be shown', () => {
  const said = (version: string): string =>
    foreignSign('presence', { formats: { version, says: 9, reads: [9, 9] } }).what;
  expect(said('9.0.0')).toContain('version 9.0.0 on this bus speaks format 9');
  expect(said(`9\n\u001B[2J${'x'.repeat(100_000)}`)).toMatch(/^[ -~…]{1,400}$/);
});
