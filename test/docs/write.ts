import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../support/processes.ts';
import { generateDocuments } from './generate.ts';

for (const [file, content] of await generateDocuments()) await writeFile(join(root, file), content);
