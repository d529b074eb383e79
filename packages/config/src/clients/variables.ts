/**
 * Placeholders of clients in the texts of their files, as references of Omnibus. Each form is translated or named: a placeholder that nothing replaces would go
 * out as a text, in place of a secret for example.
 */
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Client } from './client.ts';

/** Where a text stands. */
export interface Place {
  readonly client: Client;
  /** The file of the client. */
  readonly file: string;
  /** Whether it is a file of the user, which belongs to no project. */
  readonly isOfUser: boolean;
  /** Whether it is a file of a plugin, which is not in the folder of its user's project. */
  readonly isOfPlugin: boolean;
  /** The option of the server that the text belongs to. */
  readonly option: string;
  /** Variables that the entry gives its program: the program itself replaces them in its arguments, as a shell does. */
  readonly own: Readonly<Record<string, unknown>>;
  /** Values of the client for questions to its user, by id. */
  readonly inputs: Readonly<Record<string, string>>;
}

export interface Translation {
  readonly text: string;
  /** A remark for the user about a translated placeholder. */
  readonly notes: readonly string[];
  /** Why the text cannot be imported. */
  readonly loss: string | undefined;
}

const settingsFolder =
  /(^|[/\\])\.(vscode|cursor|roo|gemini|qwen|zed|kiro|codex|continue|amazonq|opencode|claude-plugin|vibe|junie|factory|warp|kilocode|trae|windsurf|github|augment|qoder|codebuddy|theia|idea)([/\\](settings|agents|mcpServers|cli-agents|mcp))?$/;

/** The folder of the project that a client's file belongs to: that with `.vscode` and the like in it, else that of the file. */
export function projectFolder(file: string): string {
  const folder = dirname(resolve(file));
  const [settings] = settingsFolder.exec(folder) ?? [];
  return settings === undefined ? folder : folder.slice(0, folder.length - settings.length) || '/';
}

/** The variable that stands for what VS Code asks its user: `${input:github-token}` is `${GITHUB_TOKEN}`. */
function inputVariable(id: string): string {
  return id
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_');
}

const name = /^[A-Za-z_]\w*$/;
/** Variables of VS Code that mean something in an editor alone (code.visualstudio.com/docs/reference/variables-reference). */
const ofEditor =
  /^(file|fileBasename|fileBasenameNoExtension|fileDirname|fileDirnameBasename|fileExtname|fileWorkspaceFolder|relativeFile|relativeFileDirname|lineNumber|columnNumber|selectedText|cwd|execPath|defaultBuildTask)$/;

/** Rewrites the placeholders of clients in a text as references of Omnibus. */
export function translatePlaceholders(text: string, place: Place): Translation {
  const words = new Placeholders(place);
  return { text: words.translated(text), notes: words.notes, loss: words.loss };
}

/** The placeholders of one option. */
class Placeholders {
  readonly notes: string[] = [];
  /** The first placeholder that nothing here replaces, in words. */
  loss: string | undefined;
  readonly #place: Place;
  /** Whether the text goes to the server as a secret or an address does, and no program reads it as code. */
  readonly #isValue: boolean;
  readonly #replaces: NonNullable<Client['replaces']>;

  constructor(place: Place) {
    const { client, option } = place;
    this.#place = place;
    this.#isValue = option === 'headers' || option === 'env' || option === 'url' || option === 'credentials';
    this.#replaces = client.replaces ?? [];
  }

  translated(text: string): string {
    const { client } = this.#place;
    const all = text
      .replaceAll(/\$\{\{\s*([^}]*?)\s*\}\}/g, (whole, inner: string) => this.#expression(whole, inner))
      .replaceAll(/(?<!\$)\{\{\s*([A-Za-z_][\w.]*)\s*\}\}/g, (whole, inner: string) =>
        this.#isValue || client.id === 'librechat' || client.id === 'goose-recipe'
          ? this.#lose(templateWords(whole, inner, client))
          : whole,
      )
      .replaceAll(/\$\([^)]*\)/g, (whole) =>
        this.#isValue || client.id === 'crush'
          ? this.#lose(
              '"$(…)" is the output of a command, which the gateway does not run: write "${NAME}" for an environment variable, or "${file:path}"',
            )
          : whole,
      )
      .replaceAll(/\$\{([^}]*)\}/g, (whole, inner: string) => this.#braced(whole, inner))
      .replaceAll(/(?<!\$)\{(env|file):([^{}]+)\}/g, (whole, kind: string, inner: string) =>
        this.#ofOpencode(whole, kind, inner),
      );
    const bare = this.#replaces.includes('bare')
      ? all.replaceAll(/(\$?)\$([A-Za-z_]\w*)/g, (whole, escape: string, variableName: string) =>
          escape !== '' ? whole : this.#bare(whole, variableName),
        )
      : all;
    return client.id === 'litellm'
      ? bare.replaceAll(/\bos\.environ\/([A-Za-z_]\w*)/g, (_whole, each: string) => `\${${each}}`)
      : bare;
  }

  #lose(words: string): string {
    this.loss ??= words;
    return '';
  }

  /** Whether the entry sets the variable to something else than the gateway's variable of that name. */
  #isOwn(variableName: string): boolean {
    const { own } = this.#place;
    return (
      !this.#isValue &&
      Object.hasOwn(own, variableName) &&
      !/^\$\{?(env:)?[A-Za-z_]\w*\}?$/.test(String(own[variableName]))
    );
  }

  /** `$NAME`. GitHub Copilot puts the entry's own values into its arguments; elsewhere a shell does. */
  #bare(whole: string, variableName: string): string {
    const { client, own } = this.#place;
    const value = Object.hasOwn(own, variableName) ? own[variableName] : undefined;
    if (client.id === 'copilot' && !this.#isValue && typeof value === 'string') {
      const text = value.replace(/^\$(\w+)$/, '${$1}');
      if (!text.includes('$') || /^\$\{(env:)?\w+\}$/.test(text)) return text;
    }
    return this.#isOwn(variableName) ? whole : `\${${variableName}}`;
  }

  /** `${{ … }}`, as Continue and workflows write it. */
  #expression(whole: string, inner: string): string {
    const { client } = this.#place;
    const [, variableName] = /^(?:secrets|inputs|env)\.([A-Za-z_]\w*)$/.exec(inner) ?? [];
    if (variableName === undefined)
      return this.#isValue || client.id === 'continue'
        ? this.#lose(
            `"${whole}" is a placeholder that nothing here replaces: write "\${NAME}" for an environment variable`,
          )
        : whole;
    this.notes.push(
      `${client.name} has this value of its own; here it is taken from the environment variable ${variableName}`,
    );
    return `\${env:${variableName}}`;
  }

  /** `${…}`. */
  #braced(whole: string, inner: string): string {
    const { client } = this.#place;
    if (client.id === 'spring') return this.#ofSpring(whole, inner);
    if (inner.startsWith('input:')) return this.#input(inner.slice('input:'.length));
    // MCPHost writes `${env://NAME}` and `${env://NAME:-default}`.
    if (inner.startsWith('env://')) return `\${env:${inner.slice('env://'.length)}}`;
    if (inner === 'userHome') return '${HOME}';
    if (inner === 'pathSeparator' || inner === '/') return '/';
    if (/^(workspaceFolder|workspaceRoot|workspaceFolderBasename)(:[^}]*)?$/.test(inner))
      return this.#workspace(whole, inner);
    if (ofEditor.test(inner) && (client.id === 'vscode' || !this.#replaces.includes('braces')))
      return this.#lose(
        `${whole} is a variable of ${client.id === 'vscode' ? client.name : 'VS Code'}'s editor, and nothing here has its value: write the value itself`,
      );
    const ofPlugin = this.#ofPlugin(whole, inner);
    if (ofPlugin !== undefined) return ofPlugin;
    if (/^(config|command|cmd):/.test(inner))
      return this.#lose(
        `${client.name} finds out what stands for ${whole.length > 60 ? `${whole.slice(0, 60)}…` : whole} by its settings or by a command, which the gateway does not: write the value, "\${NAME}" for an environment variable, or "\${file:path}"`,
      );
    return /^(env|file|vault):/.test(inner) ? whole : this.#variable(whole, inner);
  }

  /** Placeholders of plugins of Claude Code and of extensions of Gemini CLI. @returns undefined for another one. */
  #ofPlugin(whole: string, inner: string): string | undefined {
    const { client, file, isOfPlugin } = this.#place;
    if (inner === 'CLAUDE_PLUGIN_ROOT' || (inner === 'extensionPath' && client.id === 'plugin'))
      return plainText(projectFolder(file));
    if (/^CLAUDE_PROJECT_DIR(:-.*)?$/.test(inner))
      return isOfPlugin
        ? this.#lose(
            `${whole} is the folder that is open in Claude Code, and the gateway has none: write the path itself`,
          )
        : this.#workspace(whole, 'workspaceFolder');
    if (inner !== 'CLAUDE_PLUGIN_DATA' && !inner.startsWith('user_config.')) return undefined;
    return this.#lose(
      `${client.name} puts ${inner === 'CLAUDE_PLUGIN_DATA' ? 'a folder of its own' : 'an answer of its user'} in the place of ${whole}: write the value, or "\${NAME}" for an environment variable`,
    );
  }

  /** `${NAME}` and `${NAME:default}`, which Spring replaces in every text of its file; others are properties of the application. */
  #ofSpring(whole: string, inner: string): string {
    const [, variableName, fallback] = /^([A-Za-z_]\w*)(?::([^{}$]*))?$/.exec(inner) ?? [];
    if (variableName === undefined)
      return this.#lose(
        `${whole} is a property of the application, and nothing here has its value: write "\${NAME}" for an environment variable, or the value itself`,
      );
    return `\${${variableName}${fallback === undefined ? '' : `:-${fallback}`}}`;
  }

  /** Questions of the client to its user. */
  #input(id: string): string {
    const { client, inputs } = this.#place;
    const fallback = Object.hasOwn(inputs, id) ? `:-${inputs[id] as string}` : '';
    this.notes.push(
      `${client.name} asks its user for this value; here it is taken from the environment variable ${inputVariable(id)}`,
    );
    return `\${${inputVariable(id)}${fallback}}`;
  }

  #workspace(whole: string, inner: string): string {
    const { client, file, isOfUser } = this.#place;
    if (isOfUser)
      return this.#lose(
        `${whole} is the folder that is open in ${client.name}, and the gateway has none: write the path itself`,
      );
    const folder = projectFolder(file);
    return plainText(inner.startsWith('workspaceFolderBasename') ? (folder.split(/[/\\]/).at(-1) ?? '') : folder);
  }

  #variable(whole: string, inner: string): string {
    const { client } = this.#place;
    const replacesBraces = this.#replaces.includes('braces');
    const [variableName = ''] = inner.split(':-', 1);
    if (!name.test(variableName)) return this.#isValue || replacesBraces ? whole : `$${whole}`;
    if (replacesBraces) return this.#isOwn(variableName) ? `$${whole}` : whole;
    // The client passes it on as it is: a line of a shell means it so, and a whole value is meant as a reference.
    if (!this.#isValue || inner !== variableName) return `$${whole}`;
    this.notes.push(
      `${client.name} passes "${whole}" on as it is; here it is the environment variable ${variableName}`,
    );
    return whole;
  }

  /** `{env:…}` and `{file:…}`. */
  #ofOpencode(whole: string, kind: string, inner: string): string {
    const { client, file } = this.#place;
    if (!this.#isValue && client.id !== 'opencode') return whole;
    if (kind === 'env') return name.test(inner) ? `\${${inner}}` : whole;
    return `\${file:${pathFrom(dirname(resolve(file)), inner.trim())}}`;
  }
}

/** LibreChat writes `{{…}}` for facts about its user; elsewhere it is a value that the user is asked for. */
function templateWords(whole: string, inner: string, { id }: Client): string {
  return id === 'librechat' || /LIBRECHAT|EMAIL|USERNAME|USER_?ID/i.test(inner) || !name.test(inner)
    ? userFact(whole, inner)
    : `"${whole}" is a placeholder that nothing here replaces: write "\${${inner}}" for the environment variable of that name`;
}

/** What LibreChat and others put in the place of `{{…}}`, and what says the same here. */
function userFact(whole: string, inner: string): string {
  const fact = /EMAIL/i.test(inner)
    ? '{principal.claims.email}'
    : /USERNAME/i.test(inner)
      ? '{principal.claims.preferred_username}'
      : '{principal.subject}';
  return `nothing here replaces "${whole}": write "${fact}" for a fact about the caller (docs/how-to/credentials.md), or "\${NAME}" for an environment variable`;
}

/** A path as the client resolves it. */
export function pathFrom(folder: string, path: string): string {
  if (/^~(?=$|[/\\])/.test(path)) return join(homedir(), path.slice(1));
  return isAbsolute(path) ? path : resolve(folder, path);
}

/** A text in which nothing is a reference. */
function plainText(text: string): string {
  // A function, since `$$` in a replacement is one `$`.
  return text.replaceAll('${', () => '$${');
}
