/** Parts of a program's file about its servers outside their entries: forbidden tools, unused servers, and permitted callers. */
import type { Path } from '../problem.ts';
import { isMap, mapsIn, textsIn, type Values } from '../values.ts';

export interface RemarkAt {
  /** In the client's file. */
  readonly path: Path;
  readonly text: string;
}

/** A list of names or globs for a server; `*` as the server means each one. */
interface ToolsOf {
  readonly server: string;
  readonly tools: readonly string[];
}

export interface Beside {
  readonly exclude?: readonly ToolsOf[];
  readonly include?: readonly ToolsOf[];
  /** Servers that the program does not use. */
  readonly disabled?: readonly string[];
  readonly notes?: readonly RemarkAt[];
}

export type ReadBeside = (value: Values, servers: readonly string[]) => Beside;

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((here, step) => (isMap(here) ? here[step] : undefined), value);

/** The name of a server as clients write it in front of its tools. */
const prefixOf = (server: string): string => server.replaceAll(/[^A-Za-z0-9_-]/g, '_');

/** @returns globs over the names of a server's tools, for a glob over those names with `prefix` before them: none, if it names no tool of the server; `*` for all. */
function toolGlobs(glob: string, prefix: string): readonly string[] {
  if (glob.startsWith(prefix)) return [glob.slice(prefix.length)];
  const star = glob.indexOf('*');
  if (star === -1 || !prefix.startsWith(glob.slice(0, star))) return [];
  // The star ends in the prefix, at its end, or in the name.
  const after = glob.slice(star + 1);
  const ends = Array.from(prefix, (_sign, index) => prefix.slice(index)).filter((end) => after.startsWith(end));
  return [`*${after}`, ...ends.map((end) => after.slice(end.length)).filter((rest) => rest !== '')];
}

/** opencode: `tools: { GLOB: false }` and `permission: { GLOB: deny }`, over `SERVER_TOOL`; of several the last one that fits counts. */
export const besideOpencode: ReadBeside = (value, servers) => {
  const rules: { readonly glob: string; readonly isAllowed: boolean }[] = [];
  if (isMap(value['tools']))
    for (const [glob, isAllowed] of Object.entries(value['tools']))
      if (typeof isAllowed === 'boolean') rules.push({ glob, isAllowed });
  if (isMap(value['permission']))
    for (const [glob, verdict] of Object.entries(value['permission'])) {
      const said = isMap(verdict) ? verdict['*'] : verdict;
      if (said === 'deny' || said === 'allow') rules.push({ glob, isAllowed: said === 'allow' });
    }
  const exclude: ToolsOf[] = [];
  const include: ToolsOf[] = [];
  const disabled: string[] = [];
  for (const server of servers) {
    const prefix = `${prefixOf(server)}_`;
    const here = rules.flatMap(({ glob, isAllowed }) => toolGlobs(glob, prefix).map((tools) => ({ tools, isAllowed })));
    const closed = here.findLastIndex(({ tools, isAllowed }) => tools === '*' && !isAllowed);
    const opened = here.findLastIndex(({ tools, isAllowed }) => tools === '*' && isAllowed);
    const forbidden = here.filter(({ tools, isAllowed }) => !isAllowed && tools !== '*').map(({ tools }) => tools);
    const allowed = here
      .slice(closed + 1)
      .filter(({ isAllowed }) => isAllowed)
      .map(({ tools }) => tools);
    if (closed > opened && allowed.length === 0) disabled.push(server);
    else if (closed > opened) include.push({ server, tools: allowed });
    if (forbidden.length > 0) exclude.push({ server, tools: forbidden });
  }
  const notes: RemarkAt[] = mapsIn(value['agent']).flatMap(([agent, { tools }]) =>
    isMap(tools)
      ? [
          {
            path: ['agent', agent, 'tools'],
            text: 'tools of a single agent of opencode; a profile with `tools` is an endpoint with a selection (docs/reference/config.md)',
          },
        ]
      : [],
  );
  const asked = mapsIn({ permission: value['permission'] }).flatMap(([, rows]) =>
    Object.entries(rows).filter(
      ([glob, verdict]) =>
        verdict === 'ask' && servers.some((server) => toolGlobs(glob, `${prefixOf(server)}_`).length > 0),
    ),
  );
  for (const [glob] of asked)
    notes.push({
      path: ['permission', glob],
      text: 'opencode asks its user before such a call; here, a rule with `ask` under `access` does that (docs/how-to/policy.md)',
    });
  return { exclude, include, disabled, notes };
};

const ofGemini =
  /^(list_directory|read_file|write_file|glob|search_file_content|grep_search|replace|edit|run_shell_command|web_fetch|google_web_search|read_many_files|save_memory|write_todos|\w+Tool)(\(|$)/;

/** Gemini CLI: which servers it uses, and tools that it does not offer. */
export const besideGemini: ReadBeside = (value, servers) => {
  const mcp = isMap(value['mcp']) ? value['mcp'] : {};
  const lists = (...given: readonly unknown[]): readonly string[] | undefined =>
    given.some((each) => Array.isArray(each)) ? given.flatMap((each) => textsIn(each)) : undefined;
  const allowed = lists(mcp['allowed'], value['allowMCPServers']);
  const excluded = lists(mcp['excluded'], value['excludeMCPServers']) ?? [];
  const names = [...textsIn(at(value, 'tools', 'exclude')), ...textsIn(value['excludeTools'])];
  const exclude = names
    .filter((tool) => !ofGemini.test(tool))
    .flatMap((tool): ToolsOf[] => {
      const owned = servers.flatMap((server) => {
        const prefix = [`mcp_${server}_`, `${server}__`].find((each) => tool.startsWith(each));
        return prefix === undefined ? [] : [{ server, tools: [tool.slice(prefix.length)] }];
      });
      return owned.length > 0 ? owned : [{ server: '*', tools: [tool] }];
    });
  return {
    exclude,
    disabled: servers.filter(
      (server) => (allowed !== undefined && !allowed.includes(server)) || excluded.includes(server),
    ),
  };
};

/** An agent of Kiro or Amazon Q: `tools` lists its permitted tools, `@SERVER` and `@SERVER/TOOL` of its servers. */
export const besideKiroAgent: ReadBeside = (value, servers) => {
  const notes: RemarkAt[] = isMap(value['toolAliases'])
    ? Object.keys(value['toolAliases']).map((tool) => ({
        path: ['toolAliases', tool],
        text: 'another name for a tool; here, `rename` of a profile does that',
      }))
    : [];
  if (!Array.isArray(value['tools'])) return { notes };
  const usable = textsIn(value['tools']);
  const include: ToolsOf[] = [];
  const disabled: string[] = [];
  if (!usable.includes('*'))
    for (const server of servers) {
      if (usable.includes(`@${server}`) || usable.includes(`@${server}/*`)) continue;
      const tools = usable
        .filter((each) => each.startsWith(`@${server}/`))
        .map((each) => each.slice(server.length + 2));
      if (tools.length > 0) include.push({ server, tools });
      else disabled.push(server);
    }
  return { include, disabled, notes };
};

/** Names of the form `mcp__SERVER__TOOL`, as Amp and others write them, and `mcp_SERVER_TOOL` of Crush. */
function namedTools(names: readonly string[], servers: readonly string[]): readonly ToolsOf[] {
  return names.flatMap((each) =>
    servers.flatMap((server) => {
      const tools = [`mcp__${prefixOf(server)}__`, `mcp_${prefixOf(server)}_`].flatMap((prefix) =>
        toolGlobs(each, prefix),
      );
      return tools.length === 0 ? [] : [{ server, tools: [...new Set(tools)] }];
    }),
  );
}

export const besideAmp: ReadBeside = (value, servers) => ({
  exclude: namedTools(textsIn(value['amp.tools.disable']), servers),
  notes: ['amp.mcpPermissions', 'amp.tools.enable', 'amp.permissions']
    .filter((option) => Array.isArray(value[option]))
    .map((option) => ({
      path: [option],
      text: 'rules of Amp about tools and servers; here, `access` says who may call what (docs/how-to/policy.md), and `disabled` keeps a server unused',
    })),
});

export const besideCrush: ReadBeside = (value, servers) => ({
  exclude: namedTools(textsIn(at(value, 'options', 'disabled_tools')), servers),
});

/** Zed: profiles of its agent choose tools of servers, and permissions forbid tools by `mcp:SERVER:TOOL`. */
export const besideZed: ReadBeside = (value, servers) => {
  const notes: RemarkAt[] = mapsIn(at(value, 'agent', 'profiles')).flatMap(([profile, { context_servers: chosen }]) =>
    isMap(chosen)
      ? [
          {
            path: ['agent', 'profiles', profile, 'context_servers'],
            text: "a selection of tools by a profile of Zed's agent; a profile with `tools` is an endpoint with a selection (docs/reference/config.md)",
          },
        ]
      : [],
  );
  const exclude: ToolsOf[] = [];
  for (const [name, { default: verdict }] of mapsIn(at(value, 'agent', 'tool_permissions', 'tools'))) {
    const [, server = '', tool = ''] = /^mcp:([^:]+):(.+)$/.exec(name) ?? [];
    if (!servers.includes(server)) continue;
    if (verdict === 'deny') exclude.push({ server, tools: [tool] });
    else if (verdict === 'confirm')
      notes.push({
        path: ['agent', 'tool_permissions', 'tools', name],
        text: 'Zed asks its user before such a call; here, a rule with `ask` under `access` does that (docs/how-to/policy.md)',
      });
  }
  return { exclude, notes };
};

/** Jan: one time limit for the calls of all servers. */
export const besideJan: ReadBeside = (value) => {
  const seconds = at(value, 'mcpSettings', 'toolCallTimeoutSeconds');
  return typeof seconds === 'number'
    ? {
        notes: [
          {
            path: ['mcpSettings', 'toolCallTimeoutSeconds'],
            text: `the time limit of all calls: write timeouts: { call: ${seconds}s } (docs/how-to/timeouts.md)`,
          },
        ],
      }
    : {};
};

/** Claude Code keeps servers of single projects in the same file. */
export const besideClaudeCode: ReadBeside = (value) => ({
  notes: mapsIn(value['projects']).flatMap(([folder, project]) => {
    const count = isMap(project['mcpServers']) ? Object.keys(project['mcpServers']).length : 0;
    return count === 0
      ? []
      : [
          {
            path: ['projects', folder, 'mcpServers'],
            text: `${count === 1 ? 'a server' : `${count} servers`} of a single project; left out`,
          },
        ];
  }),
});

const callers =
  'who may call is not taken over: make keys with `omnibus keys create`, and write auth: { keys: { file: keys.yaml } } (docs/how-to/identity.md)';

/** Remarks about options of another gateway, for those that are there. */
const said =
  (rows: Readonly<Record<string, string>>): ReadBeside =>
  (value) => ({
    notes: Object.entries(rows).flatMap(([place, text]) => {
      const path = place.split('/');
      return at(value, ...path) === undefined ? [] : [{ path, text }];
    }),
  });

const furtherFile = 'it names a file with further servers, which are not taken over: import that file too';
const selections = 'a selection of servers and tools; a profile is that here (docs/reference/config.md)';
const aliases = 'other names for servers: write the names that callers use under `mcpServers`';
const place = 'where the gateway is reached: write `listen`, and `publicUrl` behind a proxy';

export const besideTbxark = said({
  'mcpProxy/options/authTokens': callers,
  'mcpProxy/addr': place,
  'mcpProxy/baseURL': place,
});
export const besideMcphub = said({
  users: callers,
  bearerKeys: callers,
  oauthClients: callers,
  'systemConfig/routing/bearerAuthKey': callers,
  groups: selections,
});
export const besideLitellm = said({
  'general_settings/master_key': callers,
  mcp_aliases: aliases,
  'litellm_settings/mcp_aliases': aliases,
  guardrails: 'guardrails are written otherwise here (docs/how-to/guardrails.md)',
});
/** Files that a plugin names for further servers, and values that an extension of Gemini CLI asks its user for. */
export const besidePlugin: ReadBeside = ({ mcpServers, settings }) => ({
  notes: [
    ...(Array.isArray(mcpServers) ? mcpServers : []).flatMap((each: unknown, index) =>
      typeof each === 'string' ? [{ path: ['mcpServers', index], text: furtherFile }] : [],
    ),
    ...(Array.isArray(settings) ? settings : []).flatMap((each: unknown, index) =>
      isMap(each) && typeof each['envVar'] === 'string'
        ? [
            {
              path: ['settings', index],
              text: `Gemini CLI asks its user for ${each['envVar']}; write it under \`env\` of the server, as "\${${each['envVar']}}"`,
            },
          ]
        : [],
    ),
  ],
});
export const besideTheia = said({
  'ai-features.mcp.toolConfirmation':
    'Theia asks its user before a call; here, a rule with `ask` under `access` does that (docs/how-to/policy.md)',
});
export const besideSpring = said({
  'spring/ai/mcp/client/stdio/servers-configuration': furtherFile,
});
export const besideLibrechat = said({
  'mcpSettings/allowedDomains': 'addresses that servers may have; the gateway connects to those of the file alone',
});
const secretsIn =
  (name: string, file: string): ReadBeside =>
  () => ({
    notes: [
      {
        path: ['mcp', 'servers'],
        text: `secrets of ${name} are in ${file}: write those of servers under \`env\` or \`headers\`, as "\${NAME}" or "\${file:path}"`,
      },
    ],
  });
export const besideMcpAgent = secretsIn('mcp-agent', 'mcp_agent.secrets.yaml');
export const besideFastAgent = secretsIn('fast-agent', 'fastagent.secrets.yaml');
/** The maps of this name anywhere in a file that are meant, each with its path. What stands in such a map is not looked at, and what stands in another one is. */
export function* everywhere(
  here: unknown,
  option: string,
  isMeant: (found: Values) => boolean = () => true,
  path: Path = [],
): Generator<readonly [Path, Values]> {
  if (Array.isArray(here))
    for (const [index, each] of here.entries()) yield* everywhere(each, option, isMeant, [...path, index]);
  else if (isMap(here))
    for (const [name, each] of Object.entries(here))
      if (name === option && isMap(each) && isMeant(each)) yield [[...path, name], each];
      else yield* everywhere(each, option, isMeant, [...path, name]);
}

/** The routes of agentgateway have policies of their own. */
export const besideAgentgateway: ReadBeside = (value) => ({
  notes: [...everywhere(value, 'policies')].map(([path, each]) => ({
    path,
    text: `policies (${Object.keys(each).join(', ')}) are not taken over: \`auth\` says who may call, \`access\` what (docs/how-to/identity.md, docs/how-to/policy.md), and \`headers\` or \`credentials\` of a server what it is shown`,
  })),
});
