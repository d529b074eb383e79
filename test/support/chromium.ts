/** Chromium for tests: the shell without windows if it is installed, since a page in it costs a third of the processor time of one in the whole browser. */
import { spawnSync } from 'node:child_process';
import { chromium, type Browser } from 'playwright-core';

const programs = [
  process.env['OMNIBUS_CHROMIUM'],
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
].filter((name) => name !== undefined && name !== '') as readonly string[];

/** The path of Chromium; undefined where it is not installed. */
export const chromiumPath = programs
  .map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim())
  .find((path) => path !== '');

/** Milliseconds that a page has for what a test waits for: far more than it takes, also on a machine with ten times the load. */
export const pageMs = 90_000;

/** Starts a browser. @throws {Error} if Chromium is not installed or does not start */
export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath as string,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  });
}
