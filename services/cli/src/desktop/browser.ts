/** Opens pages in the browser of the user of this machine, by the program that the platform has for it. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { desktopEnvironment } from '@omnibus/credentials';

/** Whether the user of this terminal would see the pages of a browser on this machine. */
export function showsPages(env: NodeJS.ProcessEnv = process.env): boolean {
  const { DISPLAY: x, WAYLAND_DISPLAY: wayland, SSH_CONNECTION: remote, BROWSER: browser } = env;
  if (browser !== undefined && browser !== '') return true;
  return process.platform === 'linux' ? (x ?? wayland ?? '') !== '' : remote === undefined;
}

/** Files that Docker and Podman make in each container. */
const marksOfContainers = ['/.dockerenv', '/run/.containerenv'];

/**
 * Whether pages open without a command of the user: never in a container or in CI, and only where they are seen.
 * @param asked by the options `--browser` and `--no-browser`; undefined without either.
 */
export function opensPages(asked: boolean | undefined, env: NodeJS.ProcessEnv = process.env): boolean {
  if (asked !== undefined) return asked;
  const { CI: ci, container, KUBERNETES_SERVICE_HOST: pod } = env;
  if (
    ![undefined, '', '0', 'false'].includes(ci) ||
    container !== undefined ||
    pod !== undefined ||
    marksOfContainers.some((mark) => existsSync(mark))
  )
    return false;
  return showsPages(env);
}

/** Opens a browser. It does not matter if there is none, since the address was printed. */
export function openBrowser(address: string): void {
  const [program, ...args] =
    process.platform === 'darwin'
      ? ['open', address]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', address]
        : ['xdg-open', address];
  const child = spawn(program as string, args, { stdio: 'ignore', detached: true, env: desktopEnvironment() });
  child.on('error', () => undefined);
  child.unref();
}
