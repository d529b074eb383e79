import { it } from 'vitest';
import { runPage } from './page.ts';

it(
  'ten servers of a client become one entry, as docs/tutorials/1-ten-servers.md shows it',
  () => runPage('tutorials/1-ten-servers'),
  180_000,
);
