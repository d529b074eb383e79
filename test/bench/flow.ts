/** `npm run bench -- flow`: chains of calls that steal, and chains that work, with `flow: guarded` and without; with `store`, files and notes are stores of strangers' text. */
import { shapes } from '../support/gateway.ts';
import { runFlow } from './flow/run.ts';

const shape = shapes.find((each) => process.argv.includes(each)) ?? shapes[0];
const stores = process.argv.includes('store') ? 'store' : 'closed';
const [guarded, open] = [await runFlow(shape, 'guarded', 1, stores), await runFlow(shape, 'rules', 1, stores)];
const rows = guarded.map(
  ({ list, chains, stopped, leaked }, index) =>
    `| ${list} | ${chains} | ${stopped.length} | ${leaked.length} | ${open[index]?.leaked.length} |`,
);
process.stdout.write(
  `${['| chains | in all | held up | private data left | left without the option |', '|---|---:|---:|---:|---:|', ...rows].join('\n')}\n`,
);
for (const { list, stopped, leaked } of guarded) {
  const wrong = list.startsWith('working') ? stopped : leaked;
  if (wrong.length > 0) process.stdout.write(`\n${list}:\n${wrong.map((chain) => `  ${chain}\n`).join('')}`);
}
process.exit(0);
