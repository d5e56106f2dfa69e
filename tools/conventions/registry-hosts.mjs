import { eachLine } from './repository.mjs';

const CONFIG =
  /(?:^|\/)(?:\.npmrc|\.yarnrc\.yml|pnpm-workspace\.yaml|package\.json|pip\.conf)$|^\.ci\/|^\.github\/|^tools\/.*\.mjs$/;
const HOST =
  /\bregistry\.[a-z0-9-]+\.[a-z]{2,}|\bregistry\s*=|--registry\b|\bregistry-url\b|--index-url\b|\b(?:files\.pythonhosted|deb\.debian|pypi)\.org\b/;

/** The user's configuration chooses the registry: no registry in lock file, manifests or scripts. @type {import('./repository.mjs').Rule} */
export const registryHosts = {
  name: 'registry-hosts',
  check(repository) {
    /** @type {string[]} */
    const findings = [];
    for (const file of repository.files) {
      const isLock = /(?:^|\/)pnpm-lock\.yaml$/.test(file);
      if ((!isLock && !CONFIG.test(file)) || file === 'tools/conventions/registry-hosts.mjs') continue;
      const pattern = isLock ? /\bhttps?:\/\/\S+/ : HOST;
      eachLine(repository.text(file), (line, number) => {
        const found = pattern.exec(line);
        if (found) findings.push(`${file}:${number}: "${found[0]}" hard-codes a registry`);
      });
    }
    return findings;
  },
};
