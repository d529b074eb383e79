/** Files with assertions that a platform or an identity provider gives: a token of a Kubernetes service account, an ID token. Others write them, so they are read for each request. */
import { readFileSync } from 'node:fs';
import { CredentialProblem } from '@omnibus/credentials';

/** @throws {CredentialProblem} */
export function readAssertion(path: string): string {
  const text = textOf(path).trim();
  // A writer may be about to replace the file.
  if (text === '') throw new CredentialProblem(`the assertion in ${path} is empty`, { isPassing: true });
  return text;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CredentialProblem(
      `the assertion in ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`,
      { isPassing: true, cause: error },
    );
  }
}
