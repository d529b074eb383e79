/**
 * The site of the documents: `npm run site`. The pages are plain Markdown, and links lead to files, so that the same pages can be read in a checkout.
 * `OMNIBUS_SITE_BASE`: path of the site at its host; `OMNIBUS_REPOSITORY`: address of the repository, for links that leave `docs/`.
 */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const docs = dirname(dirname(fileURLToPath(import.meta.url)));
const repository = process.env.OMNIBUS_REPOSITORY;

/** The kinds of pages, in the order of the sidebar. */
const kinds = [
  { folder: 'tutorials', text: 'Tutorials' },
  { folder: 'how-to', text: 'How-to' },
  { folder: 'runbooks', text: 'Runbooks', collapsed: true },
  { folder: 'reference', text: 'Reference' },
  { folder: 'explanation', text: 'Explanation' },
  { folder: 'internals', text: 'Internals', collapsed: true },
  { folder: 'decisions', text: 'Decisions', collapsed: true },
];

/** The title of a page: its first heading. */
const titleOf = (file) => /^# (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1].replaceAll('`', '') ?? relative(docs, file);

const sidebar = kinds.map(({ folder, ...group }) => {
  const pages = readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => ({
      text: titleOf(join(docs, folder, name)),
      link: `/${folder}/${name.slice(0, -'.md'.length)}`,
      name,
    }));
  // Names of tutorials and decisions begin with their number.
  const isNumbered = pages.every(({ name }) => /^\d/.test(name));
  return {
    ...group,
    items: pages.sort((a, b) => (isNumbered ? a.name.localeCompare(b.name) : a.text.localeCompare(b.text))),
  };
});

/** Links to files outside the site lead to the repository; without an address of it they become plain text. */
function linksThatLeave(markdown) {
  markdown.core.ruler.push('links-that-leave', ({ tokens, env }) => {
    for (const { children } of tokens)
      for (const [index, token] of (children ?? []).entries()) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null;
        if (href === null || /^(?:[a-z]+:|#|\/)/.test(href)) continue;
        const [path, anchor] = href.split('#');
        const target = join(dirname(env.path), path);
        if (!relative(docs, target).startsWith('..') && path.endsWith('.md')) continue;
        const file = relative(dirname(docs), target);
        if (repository !== undefined)
          token.attrSet('href', `${repository}/blob/main/${file}${anchor === undefined ? '' : `#${anchor}`}`);
        else {
          const close = children.findIndex(({ type }, at) => at > index && type === 'link_close');
          for (const each of [token, children[close]]) Object.assign(each, { type: 'text', tag: '', content: '' });
        }
      }
  });
}

/** Code blocks in the language `mermaid` become diagrams. */
function diagrams(markdown) {
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (tokens, index, ...others) =>
    tokens[index].info.trim() === 'mermaid'
      ? `<Diagram source="${encodeURIComponent(tokens[index].content)}" />\n`
      : fence(tokens, index, ...others);
}

/** Braces in code are text; Vue would read them as expressions. */
function plainCode(markdown) {
  const { code_inline: code } = markdown.renderer.rules;
  markdown.renderer.rules.code_inline = (tokens, index, ...others) => {
    tokens[index].attrSet('v-pre', '');
    return code(tokens, index, ...others);
  };
}

export default defineConfig({
  title: 'Omnibus',
  description: 'An MCP gateway: many MCP servers behind one endpoint',
  base: process.env.OMNIBUS_SITE_BASE ?? '/',
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  cleanUrls: true,
  markdown: {
    // The anchors that GitHub makes, so that links work in both places.
    anchor: {
      slugify: (heading) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
          .trim()
          .replaceAll(' ', '-'),
    },
    config(markdown) {
      markdown.use(linksThatLeave).use(diagrams).use(plainCode);
    },
  },
  // Mermaid comes as it was built by its authors: bundling its 300 modules takes longer than everything else, and few pages load it.
  buildEnd({ outDir }) {
    const mermaid = join(docs, '.vitepress/node_modules/mermaid/dist');
    const copied = ['mermaid.esm.min.mjs', 'chunks/mermaid.esm.min'];
    for (const path of copied) cpSync(join(mermaid, path), join(outDir, 'mermaid', path), { recursive: true });
  },
  themeConfig: {
    sidebar,
    search: { provider: 'local' },
    outline: [2, 3],
    ...(repository === undefined ? {} : { socialLinks: [{ icon: 'github', link: repository }] }),
  },
});
