/** Shows the user of this machine where to sign in: in the browser if pages open here, else by its address on stderr. */
import { printable } from '@omnibus/protocol';
import { openBrowser } from './browser.ts';

/** @param opens whether a browser is opened. @param say prints a line for the user. */
export function showingPages(
  opens: boolean,
  say: (text: string) => void,
): (server: string, address: string) => boolean {
  return (server, address) => {
    say(
      opens
        ? `the server ${printable(server)} wants you to sign in, on the page that your browser opens: ${address}`
        : `the server ${printable(server)} wants you to sign in: open ${address}`,
    );
    if (opens) openBrowser(address);
    return opens;
  };
}
