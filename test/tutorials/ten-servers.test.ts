import { it } from 'vitest';
import { runTutorial } from './tutorial.ts';

it(
  'ten servers of a client become one entry, as docs/tutorials/1-ten-servers.md shows it',
  () => runTutorial('1-ten-servers'),
  180_000,
);
