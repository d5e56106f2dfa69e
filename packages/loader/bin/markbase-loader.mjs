#!/usr/bin/env node
// Exists before the first build, so that installing a checkout can link the command.
import '../dist/bin.js';
