import { it } from 'vitest';
import { runPage } from './page.ts';

it(
  'files of other gateways are taken over, or named with what to do, as docs/how-to/migrate.md shows it',
  () =>
    runPage('how-to/migrate', {
      leftOut: { example: 'tutorials/1-ten-servers runs these commands' },
    }),
  180_000,
);
