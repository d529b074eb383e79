/** What npm has installed, beside what a lock file names. Plain JavaScript without dependencies, since it runs before anything is installed. */
import { existsSync, readFileSync } from 'node:fs';

/** Packages by their folders, as npm's lock file names them; undefined without the file. */
export function packagesIn(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : undefined;
}

/**
 * Whether npm has installed what a lock file names, by versions, digests and addresses. The time of the files says less: a pull changes it, and seldom the packages.
 * @param wanted packages of the lock file. @param installed those of npm's own record in node_modules.
 * @param mayMissTools whether packages for development may be missing.
 */
export function isInstalled(wanted, installed, mayMissTools) {
  const mayMiss = ({ optional, dev, devOptional }) =>
    optional === true || (mayMissTools && (dev || devOptional) === true);
  const isThere = ([path, entry]) =>
    Object.hasOwn(installed, path)
      ? ['version', 'integrity', 'resolved'].every((what) => installed[path][what] === entry[what])
      : mayMiss(entry);
  const folders = (packages) => Object.entries(packages).filter(([path]) => path.includes('node_modules/'));
  return folders(wanted).every(isThere) && folders(installed).every(([path]) => Object.hasOwn(wanted, path));
}
