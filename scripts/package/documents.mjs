/** The documents that `omnibus docs` prints, as they are in the package. */
import { cpSync, globSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Kinds of pages for people who use Omnibus; those for its developers stay in the repository. */
const kinds = ['tutorials', 'how-to', 'reference', 'explanation', 'runbooks'];

/** Copies the pages of every kind. @param root the checkout @param folder the folder for `docs` */
export function copyDocuments(root, folder) {
  const docs = join(root, 'docs');
  for (const page of [join(docs, 'README.md'), ...kinds.flatMap((kind) => globSync(join(docs, kind, '*.md')))])
    cpSync(page, join(folder, 'docs', relative(docs, page)));
}
