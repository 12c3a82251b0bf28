#ifndef NORMA_EXPERIMENTS_CHAIN_OPTIONS_H
#define NORMA_EXPERIMENTS_CHAIN_OPTIONS_H
/* The options of `norma chain` and of `norma plan chain`. */
#include "src/config/config_option.h"

extern const norma_command norma_chain_command;
extern const norma_command norma_chain_plan_command;

#endif
