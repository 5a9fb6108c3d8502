//! Grammars that belong together: those that `%import` names, and those that `@name` refers to.
//!
//! All are read into one text of several sections, so that a byte offset is a place in any of them.
//! Then they are linked: each name becomes one of the whole, `file.rule` for a rule of an imported
//! file and `@name.rule` for one of another grammar, and what is left is one list of definitions.
//!
//! ```text
//! %import .math.sum -> total        total: math.term ("+" math.term)*
//! start: total                 →    math.term: …
//! ```
//!
//! As in Lark, an imported name is the importing grammar's own: `%override` and `%extend` change it
//! for the rules of the imported file as well, and that file's `%ignore` is left behind. A grammar
//! named by `@name` keeps its own `%ignore`; it may refer to others and to itself.

use std::cell::OnceCell;
use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{
    DefinitionKind, LarkDefinition, LarkExpr, LarkExprKind, LarkFile, LarkImport, LarkOptions,
    MODULE_SEPARATOR,
};
use super::lexical::LarkParser;
use super::libraries;
use crate::ebnf::dialect::Dialect;
use crate::ebnf::environment::{Environment, NamedGrammar};
use crate::ebnf::grammar_text::{GrammarText, TextSection};
use crate::ebnf::rule_table::defined_twice;
use crate::ebnf::similar_name::most_similar;
use crate::error::{Error, ErrorKind, Result};

/// Files and other grammars that one grammar reaches.
const MAX_MODULES: usize = 1_000;
/// Definitions of all linked grammars together.
const MAX_DEFINITIONS: usize = 200_000;

/// The grammar that was given, and all that it reaches.
pub(super) struct LarkModules {
    /// Their texts, one after the other.
    pub(super) text: String,
    pub(super) sections: Vec<TextSection>,
    files: Vec<LarkFile>,
    /// By key, the index of a module.
    known: FxHashMap<ModuleKey, usize>,
    /// By index of a module, the folder that its imports are relative to: empty, or ending in `/`.
    folders: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum ModuleKey {
    /// An imported file, by its path without an ending.
    File(String),
    /// The grammar that `@name` refers to.
    Named(String),
}

/// The parts of grammars that are about what may stand between terminals.
#[derive(Default)]
pub(super) struct IgnoreGroup {
    /// The name of the rule for ignored text; no grammar can define a rule of this name.
    pub(super) rule: String,
    /// The rule that begins a text.
    pub(super) start: String,
    /// The patterns of `%ignore`.
    pub(super) ignored: Vec<LarkExpr>,
    pub(super) options: LarkOptions,
}

/// A definition of the whole, and the group of ignored patterns that holds in it.
pub(super) struct LinkedDefinition {
    pub(super) definition: LarkDefinition,
    pub(super) group: usize,
}

/// All definitions, by names that are unique.
#[derive(Default)]
pub(super) struct LinkedGrammar {
    pub(super) definitions: Vec<LinkedDefinition>,
    pub(super) groups: Vec<IgnoreGroup>,
    /// Terminals of Lark's libraries: byte offset of the import, name, pattern.
    pub(super) library: Vec<(usize, String, &'static str)>,
    /// The names of `%declare`.
    pub(super) declared: FxHashMap<String, usize>,
    /// The terminal of line breaks, if rules count the columns of lines.
    pub(super) newline: Option<String>,
    /// Definitions by name, as they were when one was first looked up.
    by_name: OnceCell<FxHashMap<String, usize>>,
}

impl LinkedGrammar {
    /// The definition of a name.
    pub(super) fn definition(&self, name: &str) -> Option<&LinkedDefinition> {
        let by_name = self.by_name.get_or_init(|| {
            let names = self.definitions.iter().map(|linked| linked.definition.name.clone());
            names.zip(0..).collect()
        });
        let is_it = |linked: &&LinkedDefinition| linked.definition.name == name;
        let found = by_name.get(name).and_then(|&at| self.definitions.get(at)).filter(is_it);
        found.or_else(|| self.definitions.iter().find(is_it))
    }
}

impl LarkModules {
    /// Reads a grammar, and the grammars that it names as far as they are in Lark's notation.
    ///
    /// Errors if one cannot be read, or is not known to the environment.
    pub(super) fn read(text: &str, environment: &dyn Environment) -> Result<Self> {
        let mut modules = Self {
            text: String::new(),
            sections: Vec::new(),
            files: Vec::new(),
            known: FxHashMap::default(),
            folders: Vec::new(),
        };
        modules.add(text, None, String::new())?;
        let mut at = 0;
        while at < modules.files.len() {
            modules.read_needed(at, environment)?;
            at += 1;
        }
        Ok(modules)
    }

    /// The cursor that turns byte offsets into places.
    pub(super) fn places(&self) -> GrammarText<'_> {
        GrammarText::with_sections(&self.text, &self.sections)
    }

    fn add(&mut self, text: &str, name: Option<String>, folder: String) -> Result<()> {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.sections.push(TextSection { start: self.text.len(), name });
        self.text.push_str(text);
        let file = LarkParser::new(self.places()).file()?;
        self.files.push(file);
        self.folders.push(folder);
        Ok(())
    }

    /// Reads the files and grammars that a module names.
    fn read_needed(&mut self, module: usize, environment: &dyn Environment) -> Result<()> {
        let file = &self.files[module];
        let mut needed: Vec<(usize, ModuleKey)> = Vec::new();
        for import in &file.imports {
            if library_of(import).is_none() {
                needed.push((import.at, self.file_key(module, import)));
            }
        }
        let bodies = file.definitions.iter().map(|definition| &definition.body);
        for expr in bodies.chain(&file.ignored) {
            expr.visit(&mut |expr| {
                if let LarkExprKind::Grammar(name) = &expr.kind {
                    needed.push((expr.at, ModuleKey::Named(name.clone())));
                }
            });
        }
        for (at, key) in needed {
            if self.known.contains_key(&key) {
                continue;
            }
            if self.files.len() == MAX_MODULES {
                let message = format!("more than {MAX_MODULES} grammars belong together");
                return Err(self.places().error(at, message));
            }
            let name = match &key {
                ModuleKey::File(path) => path,
                ModuleKey::Named(name) => name,
            };
            let found = environment.named_grammar(name);
            let found = found.map_err(|error| self.unknown(at, &key, &error))?;
            match (found, &key) {
                (NamedGrammar::Text { text, dialect: Dialect::Lark, file }, _) => {
                    self.known.insert(key.clone(), self.files.len());
                    let folder = match name.rsplit_once('/') {
                        Some((folder, _)) => format!("{folder}/"),
                        None => String::new(),
                    };
                    let name = file.unwrap_or_else(|| match &key {
                        ModuleKey::File(path) => format!("{path}.lark"),
                        ModuleKey::Named(name) => format!("@{name}"),
                    });
                    self.add(&text, Some(name), folder)?;
                }
                (_, ModuleKey::File(path)) => {
                    return Err(self
                        .places()
                        .error(at, format!("`{path}` is no grammar in Lark's notation"))
                        .with_help(format!("refer to it as a whole, by `@{path}`")));
                }
                // Embedded as it is.
                (_, ModuleKey::Named(_)) => {}
            }
        }
        Ok(())
    }

    fn unknown(&self, at: usize, key: &ModuleKey, error: &Error) -> Error {
        match key {
            ModuleKey::Named(_) => self.places().embed(at, error),
            // A file that is there and cannot be read.
            ModuleKey::File(_) if error.kind() != ErrorKind::Grammar => {
                self.places().embed(at, error)
            }
            ModuleKey::File(path) => {
                let message = format!("there is no grammar `{path}` to import from");
                let mut help = "supply it under this name, as a file beside the grammar or by \
                                --named-grammar"
                    .to_owned();
                if !path.contains('/') {
                    help = format!("libraries are common, python, lark and unicode; else {help}");
                }
                self.places().error(at, message).with_help(help)
            }
        }
    }

    /// The key of the file that a module imports from.
    fn file_key(&self, module: usize, import: &LarkImport) -> ModuleKey {
        let folder = if import.is_relative { self.folders[module].as_str() } else { "" };
        ModuleKey::File(format!("{folder}{}", import.path.join("/")))
    }

    /// Links all of it into one list of definitions.
    ///
    /// Errors if a name is defined twice, or one that is imported, overridden or extended is not
    /// defined.
    pub(super) fn link(&self) -> Result<LinkedGrammar> {
        let mut linker = Linker {
            modules: self,
            text: self.places(),
            linked: LinkedGrammar::default(),
            index: FxHashMap::default(),
            changes: Vec::new(),
            todo: VecDeque::new(),
            groups: FxHashMap::default(),
        };
        linker.open_group(0, String::new());
        while let Some(instance) = linker.todo.pop_front() {
            linker.instance(&instance)?;
        }
        linker.change()?;
        Ok(linker.linked)
    }
}

/// The library that an import names.
fn library_of(import: &LarkImport) -> Option<&'static [(&'static str, &'static str)]> {
    match &import.path[..] {
        [library] if !import.is_relative => libraries::terminals(library),
        _ => None,
    }
}

/// A module as one other imports it.
struct ModuleInstance {
    module: usize,
    /// The beginning of names that have no other name in the importing module.
    prefix: String,
    /// By name in the module: its name in the whole.
    aliases: FxHashMap<String, String>,
    /// The names that are needed, with the byte offsets of their imports; `None` for all.
    needed: Option<Vec<(usize, String)>>,
    group: usize,
    /// The modules that import it, one by the other.
    importers: Vec<usize>,
}

impl ModuleInstance {
    fn linked_name(&self, name: &str) -> String {
        match self.aliases.get(name) {
            Some(linked) => linked.clone(),
            None => format!("{}{name}", self.prefix),
        }
    }
}

struct Linker<'m> {
    modules: &'m LarkModules,
    text: GrammarText<'m>,
    linked: LinkedGrammar,
    /// By name, the index of its definition.
    index: FxHashMap<String, usize>,
    /// Definitions that change others.
    changes: Vec<LinkedDefinition>,
    todo: VecDeque<ModuleInstance>,
    /// By module that `@name` refers to, its prefix.
    groups: FxHashMap<usize, String>,
}

impl Linker<'_> {
    /// Makes a module a grammar of its own, with its own `%ignore`.
    fn open_group(&mut self, module: usize, prefix: String) {
        let group = self.linked.groups.len();
        self.linked.groups.push(IgnoreGroup {
            rule: format!("%ignore {prefix}"),
            start: format!("{prefix}start"),
            ignored: Vec::new(),
            options: self.modules.files[module].options,
        });
        self.groups.insert(module, prefix.clone());
        let aliases = FxHashMap::default();
        self.todo.push_back(ModuleInstance {
            module,
            prefix,
            aliases,
            needed: None,
            group,
            importers: Vec::new(),
        });
    }

    fn instance(&mut self, instance: &ModuleInstance) -> Result<()> {
        let file = &self.modules.files[instance.module];
        let needed = match &instance.needed {
            Some(names) => Some(self.reached(file, names)?),
            None => None,
        };
        let is_needed = |name: &str| needed.as_ref().is_none_or(|needed| needed.contains(name));
        self.imports(instance, &is_needed)?;
        for (at, name) in &file.declared {
            self.linked.declared.insert(instance.linked_name(name), *at);
        }
        if needed.is_none() {
            for expr in &file.ignored {
                let expr = self.renamed(expr, instance, &[]);
                self.linked.groups[instance.group].ignored.push(expr);
            }
        }
        for definition in file.definitions.iter().filter(|known| is_needed(&known.name)) {
            let LarkDefinition { at, name, parameters, .. } = definition;
            let mut linked = definition.clone();
            linked.name = instance.linked_name(name);
            linked.body = self.renamed(&definition.body, instance, parameters);
            let suffix = definition.attributes.suffix.as_ref();
            linked.attributes.suffix = suffix.map(|suffix| self.renamed(suffix, instance, &[]));
            let stop = definition.attributes.stop.as_ref();
            linked.attributes.stop = stop.map(|stop| self.renamed(stop, instance, &[]));
            let linked = LinkedDefinition { definition: linked, group: instance.group };
            match definition.kind {
                DefinitionKind::New => self.define(*at, linked)?,
                DefinitionKind::Override | DefinitionKind::Extend => self.changes.push(linked),
            }
        }
        Ok(())
    }

    fn define(&mut self, at: usize, linked: LinkedDefinition) -> Result<()> {
        let name = &linked.definition.name;
        if self.index.contains_key(name) {
            return Err(defined_twice(&self.text, at, name));
        }
        if self.linked.definitions.len() == MAX_DEFINITIONS {
            let message = format!("the grammars have more than {MAX_DEFINITIONS} definitions");
            return Err(self.text.error(at, message));
        }
        self.index.insert(name.clone(), self.linked.definitions.len());
        self.linked.definitions.push(linked);
        Ok(())
    }

    /// The names of a file that some of them use, themselves included.
    fn reached(&self, file: &LarkFile, names: &[(usize, String)]) -> Result<FxHashSet<String>> {
        let imported = || file.imports.iter().flat_map(|import| &import.names);
        for (at, name) in names {
            let defined = || file.definitions.iter().map(|known| known.name.as_str());
            let all = || {
                defined()
                    .chain(imported().map(|import| import.alias.as_str()))
                    .chain(file.declared.iter().map(|(_, name)| name.as_str()))
            };
            if !all().any(|known| known == name) {
                let error = self.text.error(*at, format!("the grammar has no `{name}` to import"));
                return Err(match most_similar(name, all()) {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => error.with_help("import a rule or terminal that it defines"),
                });
            }
        }
        let mut reached = FxHashSet::default();
        let mut todo: Vec<String> = names.iter().map(|(_, name)| name.clone()).collect();
        while let Some(name) = todo.pop() {
            for definition in file.definitions.iter().filter(|known| known.name == name) {
                let mut see = |expr: &LarkExpr| {
                    if let LarkExprKind::Name(name)
                    | LarkExprKind::Template(name, _)
                    | LarkExprKind::Parametric(name, _) = &expr.kind
                        && !reached.contains(name)
                    {
                        todo.push(name.clone());
                    }
                };
                definition.body.visit(&mut see);
                let LarkDefinition { attributes, .. } = definition;
                let ends = attributes.suffix.iter().chain(&attributes.stop);
                ends.for_each(|end| end.visit(&mut see));
            }
            reached.insert(name);
        }
        Ok(reached)
    }

    /// Defines terminals of libraries, and queues imported files.
    fn imports(
        &mut self,
        instance: &ModuleInstance,
        is_needed: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        let modules = self.modules;
        let mut files: Vec<ModuleInstance> = Vec::new();
        for import in &modules.files[instance.module].imports {
            let names = import.names.iter().filter(|name| is_needed(&name.alias));
            if let Some(library) = library_of(import) {
                for name in names {
                    let known = library.iter().find(|(known, _)| *known == name.name);
                    let Some((_, pattern)) = known else {
                        return Err(self.unknown_terminal(
                            &import.path[0],
                            library,
                            name.at,
                            &name.name,
                        ));
                    };
                    let linked = instance.linked_name(&name.alias);
                    let is_same = |(_, known, text): &(usize, String, &str)| {
                        *known == linked && text == pattern
                    };
                    if !self.linked.library.iter().any(is_same) {
                        self.linked.library.push((name.at, linked, pattern));
                    }
                }
                continue;
            }
            let key = modules.file_key(instance.module, import);
            // It was read before.
            let Some(&module) = modules.known.get(&key) else { continue };
            if names.clone().next().is_none() {
                continue;
            }
            if module == instance.module || instance.importers.contains(&module) {
                return Err(self
                    .text
                    .error(import.at, "imports lead in a circle")
                    .with_help("move what both files need into a third one"));
            }
            let position = files.iter().position(|file| file.module == module);
            let position = position.unwrap_or_else(|| {
                let name = import.path.join(&MODULE_SEPARATOR.to_string());
                files.push(ModuleInstance {
                    module,
                    prefix: format!("{}{name}{MODULE_SEPARATOR}", instance.prefix),
                    aliases: FxHashMap::default(),
                    needed: Some(Vec::new()),
                    group: instance.group,
                    importers: [&instance.importers[..], &[instance.module]].concat(),
                });
                files.len() - 1
            });
            let file = &mut files[position];
            for name in names {
                let linked = instance.linked_name(&name.alias);
                match file.aliases.get(&name.name).cloned() {
                    None => {
                        file.aliases.insert(name.name.clone(), linked);
                        file.needed.get_or_insert_default().push((name.at, name.name.clone()));
                    }
                    Some(known) if known == linked => {}
                    // A second name of the same rule.
                    Some(known) => {
                        let body = LarkExpr { at: name.at, kind: LarkExprKind::Name(known) };
                        let definition = LarkDefinition {
                            at: name.at,
                            kind: DefinitionKind::New,
                            name: linked,
                            parameters: Vec::new(),
                            is_parametric: false,
                            attributes: super::ast::RuleAttributes::default(),
                            body,
                        };
                        let group = instance.group;
                        self.define(name.at, LinkedDefinition { definition, group })?;
                    }
                }
            }
        }
        self.todo.extend(files);
        Ok(())
    }

    fn unknown_terminal(
        &self,
        library: &str,
        terminals: &[(&str, &str)],
        at: usize,
        name: &str,
    ) -> Error {
        let message = format!("the library `{library}` has no terminal `{name}`");
        let error = self.text.error(at, message);
        match most_similar(name, terminals.iter().map(|(name, _)| *name)) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => {
                let some: Vec<&str> = terminals.iter().take(6).map(|(name, _)| *name).collect();
                error.with_help(format!("it has {}, …", some.join(", ")))
            }
        }
    }

    /// An expression with the names of the whole.
    fn renamed(
        &mut self,
        expr: &LarkExpr,
        instance: &ModuleInstance,
        parameters: &[String],
    ) -> LarkExpr {
        let mut renamed = expr.clone();
        renamed.visit_mut(&mut |expr| match &mut expr.kind {
            LarkExprKind::Name(name) if parameters.contains(name) => {}
            LarkExprKind::Name(name)
            | LarkExprKind::Template(name, _)
            | LarkExprKind::Parametric(name, _) => *name = instance.linked_name(name),
            LarkExprKind::Grammar(name) => {
                let key = ModuleKey::Named(name.clone());
                let Some(&module) = self.modules.known.get(&key) else { return };
                let prefix = match self.groups.get(&module) {
                    Some(prefix) => prefix.clone(),
                    None => {
                        let prefix = format!("@{name}{MODULE_SEPARATOR}");
                        self.open_group(module, prefix.clone());
                        prefix
                    }
                };
                *name = format!("{prefix}start");
            }
            _ => {}
        });
        renamed
    }

    /// Applies `%override` and `%extend`.
    fn change(&mut self) -> Result<()> {
        for change in std::mem::take(&mut self.changes) {
            let LinkedDefinition { definition, group } = change;
            let LarkDefinition { at, kind, name, .. } = &definition;
            let Some(&known) = self.index.get(name) else {
                return Err(self.undefined_change(*at, *kind, name));
            };
            let known = &mut self.linked.definitions[known];
            if *kind == DefinitionKind::Override {
                *known = LinkedDefinition { definition, group };
                continue;
            }
            let old = &known.definition;
            if old.parameters != definition.parameters
                || old.is_parametric != definition.is_parametric
            {
                let message =
                    format!("`{name}` is extended with other parameters than it is defined with");
                return Err(self
                    .text
                    .error(*at, message)
                    .with_help("extend it with the same parameters"));
            }
            // One list, however often it is extended: expressions are read recursively.
            let nothing = LarkExpr { at: *at, kind: LarkExprKind::Choice(Vec::new()) };
            let old = std::mem::replace(&mut known.definition.body, nothing);
            let mut alternatives = match old.kind {
                LarkExprKind::Choice(alternatives) => alternatives,
                kind => vec![LarkExpr { at: old.at, kind }],
            };
            alternatives.push(definition.body.clone());
            known.definition.body.kind = LarkExprKind::Choice(alternatives);
        }
        Ok(())
    }

    fn undefined_change(&self, at: usize, kind: DefinitionKind, name: &str) -> Error {
        let verb = match kind {
            DefinitionKind::Extend => "extend",
            _ => "override",
        };
        let is_library = self.linked.library.iter().any(|(_, known, _)| known == name);
        if is_library {
            return self
                .text
                .error(at, format!("`{name}` is a terminal of a library"))
                .with_help("import it under another name, and define a terminal of this name");
        }
        let error = self.text.error(at, format!("there is no `{name}` to {verb}"));
        match most_similar(name, self.index.keys().map(String::as_str)) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help(format!("import it, or define it without %{verb}")),
        }
    }
}
