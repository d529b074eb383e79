/** Placeholders of clients in the texts of their files, as references of Omnibus. */
import { dirname, resolve } from 'node:path';

export interface Placeholders {
  /** The file they stand in. */
  readonly file: string;
  /** Whether a plain `$NAME` is one. */
  readonly takesBare: boolean;
}

/** The folder of the project that a client's file belongs to: that with `.vscode` and the like in it, else that of the file. */
function projectFolder(file: string): string {
  const folder = dirname(resolve(file));
  return /(^|[/\\])\.(vscode|cursor|roo|gemini|zed|kiro|codex)$/.test(folder) ? dirname(folder) : folder;
}

/** The variable that stands for what VS Code asks its user: `${input:github-token}` is `${GITHUB_TOKEN}`. */
export function inputVariable(id: string): string {
  return id
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_');
}

/** Rewrites the placeholders of clients in a text as references of Omnibus. An unknown placeholder stays, and is reported when references are resolved. */
export function translatePlaceholders(text: string, { file, takesBare }: Placeholders): string {
  const braced = text.replaceAll(/\$\{([^}]*)\}/g, (whole, inner: string) => {
    if (inner.startsWith('input:')) return `\${${inputVariable(inner.slice('input:'.length))}}`;
    if (inner === 'userHome') return '${HOME}';
    if (inner === 'pathSeparator' || inner === '/') return '/';
    if (/^(workspaceFolder(:[^}]*)?|workspaceRoot)$/.test(inner)) return projectFolder(file).replaceAll('${', '$${');
    if (inner === 'workspaceFolderBasename')
      return (projectFolder(file).split(/[/\\]/).at(-1) ?? '').replaceAll('${', '$${');
    return whole;
  });
  const otherwise = braced.replaceAll(/\{env:([A-Za-z_]\w*)\}/g, (whole, name: string, at: number) =>
    braced[at - 1] === '$' ? whole : `\${${name}}`,
  );
  return takesBare ? otherwise.replaceAll(/\$([A-Za-z_]\w*)/g, (_whole, name: string) => `\${${name}}`) : otherwise;
}
